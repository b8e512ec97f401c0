import type { z } from "zod";
import type { CallContext, ChangeContext, CheckContext, Failures } from "./context.js";
import type { UnknowableProperties } from "./unknown.js";

export type Shape = z.ZodObject;

export interface Timeouts {
  /** Seconds. */
  create?: number;
  read?: number;
  update?: number;
  delete?: number;
}

export interface Created<Outputs> {
  id: string;
  outputs: Outputs;
}

export interface ReadRequest<Inputs, Outputs> {
  id: string;
  /** Absent on import: everything comes from the ID and the provider's configuration then. */
  inputs?: Inputs;
  /** As in state; a resource that was created partially lacks some. Empty on import. */
  outputs: Partial<Outputs>;
}

export interface ReadResult<Inputs, Outputs> {
  /** Default: the ID asked for. */
  id?: string;
  /** What inputs would describe what is there: differences from the program's show as changes after a refresh. */
  inputs: Inputs;
  outputs: Outputs;
}

export interface UpdateRequest<Inputs, Outputs> {
  id: string;
  inputs: Inputs;
  oldInputs: Inputs;
  /** As in state; a resource that was created partially lacks some. */
  outputs: Partial<Outputs>;
}

export interface DeleteRequest<Inputs, Outputs> {
  id: string;
  inputs: Inputs;
  outputs: Partial<Outputs>;
}

export interface DiffRequest<Inputs, Outputs> {
  id: string;
  oldInputs: Inputs;
  inputs: UnknowableProperties<Inputs>;
  outputs: Partial<Outputs>;
}

/** Adjusts the framework's own comparison. Paths as in messages: "consumer.context". */
export interface DiffAdjustment {
  /** Changed paths (or whole properties) that need a replacement, beyond `replaceOn`. */
  replace?: string[];
  /** Changed paths that are no change after all. */
  ignore?: string[];
  /** Paths to report as changed although the inputs are equal (drift seen by read, for example). */
  update?: string[];
}

/** A resource as the engine keeps it: its inputs, and its state (inputs and outputs together). */
export interface StoredResource {
  inputs: Record<string, unknown>;
  state: Record<string, unknown>;
}

export type StateUpgrade = (old: StoredResource) => StoredResource;

/**
 * One resource, from which check, diff, state, schema.json and the SDK derive. All hooks get plain values: secrets are unwrapped
 * on the way in and marked again on the way out, in the same places and wherever the schemas say `secret`.
 * Inputs are echoed into the state beside the outputs; an output of an input's name replaces the echo.
 */
export interface ResourceDefinition<In extends Shape, Out extends Shape> {
  /** "liqo:index:NetworkLink". */
  token: string;
  description: string;
  inputs: In;
  outputs: Out;
  /** Changed inputs that need a replacement: "clusterId", "consumer.context", "labels.*". */
  replaceOn?: readonly string[];
  /**
   * One for each change of the shape of inputs or state that earlier versions have written differently, the oldest first; never taken out again.
   * Each gets what the one before it left, and must ask no cluster. Secrets keep their marks by path.
   */
  stateUpgrades?: readonly StateUpgrade[];
  /** Default true: two of a kind cannot be there at once. */
  deleteBeforeReplace?: boolean;
  /** Default ten minutes each, two for read. customTimeouts override them. */
  timeouts?: Timeouts;
  /** Further checks after types, formats and clusters. May change the inputs by returning new ones. Reports to `failures`, throws nothing. */
  check?(
    context: CheckContext,
    inputs: UnknowableProperties<z.output<In>>,
    failures: Failures,
    oldInputs: z.output<In> | undefined,
  ): Promise<UnknowableProperties<z.output<In>> | void>;
  /** Adjusts the comparison of old and new inputs. Must be quick and contact nothing. */
  diff?(request: DiffRequest<z.output<In>, z.output<Out>>): DiffAdjustment;
  /**
   * The outputs that are known in preview, without changing anything; those left out show as unknown when creating, and keep
   * their old value when updating, unless named as UNKNOWN. Contact clusters only where inputs are known, tolerate failure.
   */
  preview?(
    context: CallContext,
    inputs: UnknowableProperties<z.output<In>>,
    old: { id: string; oldInputs: z.output<In>; outputs: Partial<z.output<Out>> } | undefined,
  ): Promise<Partial<UnknowableProperties<z.output<Out>>>>;
  /** Idempotent: takes over what a create that died midway has left. */
  create(context: ChangeContext<z.output<Out>>, inputs: z.output<In>): Promise<Created<z.output<Out>>>;
  /** What is there now; undefined when it is gone. */
  read(
    context: CallContext,
    request: ReadRequest<z.output<In>, z.output<Out>>,
  ): Promise<ReadResult<z.output<In>, z.output<Out>> | undefined>;
  /** In place; also resumes a partial create. */
  update(
    context: ChangeContext<z.output<Out>>,
    request: UpdateRequest<z.output<In>, z.output<Out>>,
  ): Promise<z.output<Out>>;
  delete(context: CallContext, request: DeleteRequest<z.output<In>, z.output<Out>>): Promise<void>;
}

/** Gives inference its types; definitions are collected in provider/resources/index.ts. */
export function defineResource<In extends Shape, Out extends Shape>(
  definition: ResourceDefinition<In, Out>,
): ResourceDefinition<In, Out> {
  return definition;
}

/** A definition whose types the server need not know. */
export type AnyResource = ResourceDefinition<Shape, Shape>;

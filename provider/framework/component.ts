import type * as pulumi from "@pulumi/pulumi";
import type { z } from "zod";
import type { Failures } from "./context.js";
import type { Shape } from "./resource.js";
import type { UnknowableProperties } from "./unknown.js";

/** What a component needs of the SDK; the rest of it is large and stays unread. */
export type ComponentSdk = Pick<
  typeof pulumi,
  | "ComponentResource"
  | "CustomResource"
  | "Output"
  | "all"
  | "concat"
  | "interpolate"
  | "log"
  | "mergeOptions"
  | "output"
  | "secret"
  | "unsecret"
>;

/** What construct answers. */
export interface ConstructResult {
  component: pulumi.ComponentResource;
  /** The component's outputs by name. */
  state: Record<string, pulumi.Input<unknown>>;
}

/**
 * A component. Its inputs and outputs are described as those of resources; `construct` gets the inputs as the SDK's runtime rebuilds them (values or
 * Outputs, with their dependencies and secrets) together with the SDK itself, which must only be loaded here: import its types only.
 */
export interface ComponentDefinition<In extends Shape, Out extends Shape> {
  /** "liqo:index:Peering". */
  token: string;
  description: string;
  inputs: In;
  outputs: Out;
  /** Rules over several inputs, once types and formats have been checked; what is faulty or not known yet is UNKNOWN. */
  check?(inputs: UnknowableProperties<z.output<In>>, failures: Failures): void;
  /**
   * Make the component with `new sdk.ComponentResource(token, name, {}, options)` and its children with
   * `new sdk.CustomResource("liqo:index:NetworkLink", …, { parent: component })`; end with component.registerOutputs(state).
   * Values in `inputs` may be Outputs. What was not given is absent, also where the schema has a default: children have their own, and each input that the
   * engine need not carry makes its state smaller.
   */
  construct(
    sdk: ComponentSdk,
    name: string,
    inputs: Record<string, pulumi.Input<unknown>>,
    options: pulumi.ComponentResourceOptions,
  ): ConstructResult | Promise<ConstructResult>;
}

export function defineComponent<In extends Shape, Out extends Shape>(
  definition: ComponentDefinition<In, Out>,
): ComponentDefinition<In, Out> {
  return definition;
}

export type AnyComponent = ComponentDefinition<Shape, Shape>;

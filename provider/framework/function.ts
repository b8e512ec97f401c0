import type { z } from "zod";
import type { CallContext } from "./context.js";
import type { Shape } from "./resource.js";

/** A function (invoke): reads, never changes. Unknown arguments in preview never reach `call`: the answer is unknown then. */
export interface FunctionDefinition<In extends Shape, Out extends Shape> {
  /** "liqo:index:getClusterInfo". */
  token: string;
  description: string;
  inputs: In;
  outputs: Out;
  /** Seconds; default 30. */
  timeout?: number;
  call(context: CallContext, inputs: z.output<In>): Promise<z.output<Out>>;
}

export function defineFunction<In extends Shape, Out extends Shape>(
  definition: FunctionDefinition<In, Out>,
): FunctionDefinition<In, Out> {
  return definition;
}

export type AnyFunction = FunctionDefinition<Shape, Shape>;

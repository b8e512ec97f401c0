import { status as Code } from "@grpc/grpc-js";
import type { AnyComponent } from "../framework/component.js";
import type { AnyFunction } from "../framework/function.js";
import type { AnyResource } from "../framework/resource.js";
import { StatusError } from "./errors.js";

/** Everything the package offers, by token. */
export interface Registry {
  resources: readonly AnyResource[];
  functions: readonly AnyFunction[];
  components: readonly AnyComponent[];
}

export type LoadRegistry = () => Promise<Registry>;

export function findResource(registry: Registry, type: string): AnyResource {
  const resource = registry.resources.find((candidate) => candidate.token === type);
  if (!resource) throw new StatusError(Code.NOT_FOUND, unknownToken("resource type", type, registry.resources));
  return resource;
}

export function findFunction(registry: Registry, token: string): AnyFunction {
  const found = registry.functions.find((candidate) => candidate.token === token);
  if (!found) throw new StatusError(Code.NOT_FOUND, unknownToken("function", token, registry.functions));
  return found;
}

export function findComponent(registry: Registry, type: string): AnyComponent {
  const component = registry.components.find((candidate) => candidate.token === type);
  if (!component) throw new StatusError(Code.NOT_FOUND, unknownToken("component type", type, registry.components));
  return component;
}

function unknownToken(what: string, token: string, there: readonly { token: string }[]): string {
  return `the package liqo has no ${what} ${token}; there are ${there.map((one) => one.token).join(", ")}`;
}

/** Type and name out of a URN: urn:pulumi:stack::project::parent$type::name. */
export function parseUrn(urn: string): { type: string; name: string } {
  const [, , types = "", ...name] = urn.split("::");
  return { type: types.slice(types.lastIndexOf("$") + 1), name: name.join("::") };
}

import { typeOf, unwrap } from "../../provider/framework/field-info.js";
import { agentInputs, type AgentInputs } from "../../provider/resources/agent/schema.js";

/** A property of the Agent as a value of the chart. */
export interface ChartValue {
  name: string;
  kind: "text" | "number" | "boolean" | "list" | "map";
  description: string;
  /** Undefined: no default, and none that must be given. */
  fallback: unknown;
}

/** What Helm decides itself, or what only Pulumi does. */
const NOT_VALUES = new Set(["cluster", "namespace", "forceDelete"]);

/** Values that the Agent finds out by itself, and a chart cannot. */
export const REQUIRED_VALUES = ["clusterId", "podCIDRs", "serviceCIDR"] as const;

const KINDS: Record<string, ChartValue["kind"]> = {
  string: "text",
  enum: "text",
  number: "number",
  boolean: "boolean",
  array: "list",
  record: "map",
};

/** @throws Error for a property of a kind that charts have no form for */
export function chartValues(): ChartValue[] {
  return Object.entries(agentInputs.shape)
    .filter(([name]) => !NOT_VALUES.has(name))
    .map(([name, field]) => {
      const { schema, info, defaultValue } = unwrap(field);
      const kind = KINDS[typeOf(schema)];
      if (!kind) throw new Error(`Agent.${name}: a ${typeOf(schema)} has no form in a Helm chart`);
      return { name, kind, description: info.description ?? "", fallback: defaultValue };
    });
}

/** A text that stands for a value until it becomes an expression of the template; lower case, as it may be a name. */
export const tokenOf = (name: string): string => `value--${name.toLowerCase()}--`;

/** A number that stands for a value; large enough that nothing else has it. */
export function numberTokenOf(name: string): number {
  return 900_000_000 + chartValues().findIndex((value) => value.name === name);
}

/** The Agent's properties with tokens for all that is no choice between two forms of the manifests. */
export function tokenInputs(): AgentInputs {
  const entries = chartValues().map(({ name, kind }) => [name, tokenValue(name, kind)] as const);
  return {
    ...Object.fromEntries(entries),
    namespace: tokenOf("namespace"),
    forceDelete: false,
  } as unknown as AgentInputs;
}

function tokenValue(name: string, kind: ChartValue["kind"]): unknown {
  switch (kind) {
    case "text":
      return tokenOf(name);
    case "number":
      return numberTokenOf(name);
    case "boolean":
      return true;
    case "list":
      return [tokenOf(name)];
    case "map":
      return { [tokenOf(name)]: tokenOf(name) };
  }
}

/** The inputs by which manifests lose what the property brings; undefined where a value is always there. */
export function withoutValue({ name, kind, fallback }: ChartValue): AgentInputs | undefined {
  const required: readonly string[] = REQUIRED_VALUES;
  const inputs = tokenInputs();
  if (name === "gatewayReplicas") return { ...inputs, gatewayReplicas: 1 };
  if (required.includes(name) || kind === "number") return undefined;
  if (kind !== "text") return { ...inputs, [name]: { boolean: false, list: [], map: {} }[kind] };
  return fallback === undefined || fallback === "" ? { ...inputs, [name]: fallback } : undefined;
}

/** A line as it is when the value is empty. */
export function emptied(line: string, { name }: ChartValue): string {
  const token = tokenOf(name);
  return line.replaceAll(`${token}=${token}`, "").replaceAll(token, "");
}

/** When a manifest has what the property brings. */
export function conditionOf({ name }: ChartValue): string {
  return name === "gatewayReplicas" ? `gt (int $.Values.${name}) 1` : `$.Values.${name}`;
}

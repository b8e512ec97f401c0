import { canonicalCidr, isCidr, type Configuration } from "../../api/index.js";
import { allow, deny, mutate, type AdmissionHandler, type AdmissionRequest, type PatchOperation } from "./admission.js";

const LEAVES = [
  ["local", "pod"],
  ["local", "external"],
  ["remote", "pod"],
  ["remote", "external"],
] as const;

/** Stores only lists: a single string, as documented manifests write it, becomes a list of one (API specification, §13). */
export const mutateConfiguration: AdmissionHandler = (request) => {
  const { object } = request as AdmissionRequest<Configuration>;
  return object ? mutate(cidrListPatch(object)) : allow();
};

/** Checks what the schema leaves untyped: that every range is one. */
export const validateConfiguration: AdmissionHandler = (request) => {
  const { object } = request as AdmissionRequest<Configuration>;
  const problems = object ? cidrProblems(object) : [];
  return problems.length > 0 ? deny(problems.join("; "), 422) : allow();
};

export function cidrListPatch(configuration: Configuration): PatchOperation[] {
  return LEAVES.flatMap(([side, type]): PatchOperation[] => {
    const value = leaf(configuration, side, type);
    if (typeof value !== "string") return [];
    return [{ op: "replace", path: `/spec/${side}/cidr/${type}`, value: value === "" ? [] : [value] }];
  });
}

export function cidrProblems(configuration: Configuration): string[] {
  return LEAVES.flatMap(([side, type]) => {
    const value = leaf(configuration, side, type);
    if (value === undefined || value === null) return [];
    const path = `spec.${side}.cidr.${type}`;
    if (typeof value !== "string" && !Array.isArray(value)) return [`${path}: must be a list of ranges`];
    const list: unknown[] = Array.isArray(value) ? value : value === "" ? [] : [value];
    return list.flatMap((cidr, index) => rangeProblem(`${path}[${index}]`, cidr));
  });
}

function rangeProblem(path: string, cidr: unknown): string[] {
  if (typeof cidr !== "string" || !isCidr(cidr)) {
    return [`${path}: ${JSON.stringify(cidr)} is not an IPv4 range such as "10.0.0.0/16"`];
  }
  const canonical = canonicalCidr(cidr);
  return canonical === cidr ? [] : [`${path}: "${cidr}" has host bits set: write "${canonical}"`];
}

/** What is really there, whatever the type says: the leaves are untyped in the schema. */
function leaf(configuration: Configuration, side: "local" | "remote", type: "pod" | "external"): unknown {
  return configuration.spec?.[side]?.cidr?.[type];
}

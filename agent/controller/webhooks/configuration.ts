import {
  ConfigurationResource,
  Labels,
  canonicalCidr,
  cidrSize,
  cidrsOverlap,
  isCidr,
  normalizeCidrs,
  parseCidr,
  type Configuration,
} from "../../api/index.js";
import { isDeleting } from "../../runtime/index.js";
import { allow, deny, mutate, type AdmissionHandler, type AdmissionRequest, type PatchOperation } from "./admission.js";
import type { WebhookContext } from "./context.js";
import { othersForPeer, peerLabelProblems } from "./peer-label.js";

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

/** The smallest range that is of use: of the external one the first address stands for all nodes. */
const MAX_PREFIX = 30;

/** What no cluster can have its pods in: this host, loopback, link-local (the tunnel's own addresses), multicast and beyond. */
const UNUSABLE = ["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"];

/**
 * Checks what the schema leaves untyped, the ranges, and that a cluster is described once. An object whose ranges and label do
 * not change is left alone: others must be able to write their part of it.
 */
export function configurationValidator({ client, config }: WebhookContext): AdmissionHandler {
  return async (request) => {
    const { object, oldObject } = request as AdmissionRequest<Configuration>;
    if (!object || isDeleting(object) || (oldObject && judgedPart(oldObject) === judgedPart(object))) return allow();
    const problems = [...peerLabelProblems(object, config.clusterId), ...cidrProblems(object, config.ipamPools)];
    if (problems.length > 0) return deny(problems.join("; "), 422);
    const remote = object.metadata.labels?.[Labels.remoteClusterID] ?? "";
    const { items } = await client.list(ConfigurationResource, { labelSelector: { [Labels.remoteClusterID]: remote } });
    const [other] = othersForPeer({ ...object, kind: ConfigurationResource.kind }, items.map(withKind));
    if (!other) return allow();
    return deny(
      `metadata.labels[${Labels.remoteClusterID}]: the ranges of cluster ${remote} are those of Configuration ` +
        `${other.metadata.namespace}/${other.metadata.name} already; change or delete that one`,
    );
  };
}

/** Objects of a list need not carry their kind. */
function withKind(configuration: Configuration): Configuration {
  return { ...configuration, kind: ConfigurationResource.kind };
}

function judgedPart({ metadata, spec }: Configuration): string {
  return JSON.stringify([
    metadata.labels?.[Labels.remoteClusterID],
    LEAVES.map(([side, type]) => spec?.[side]?.cidr?.[type]),
  ]);
}

export function cidrListPatch(configuration: Configuration): PatchOperation[] {
  return LEAVES.flatMap(([side, type]): PatchOperation[] => {
    const value = leaf(configuration, side, type);
    if (typeof value !== "string") return [];
    return [{ op: "replace", path: `/spec/${side}/cidr/${type}`, value: value === "" ? [] : [value] }];
  });
}

/** Ranges that are none, or of no use, or that cover each other, or that no pool could hold. */
export function cidrProblems(configuration: Configuration, pools: readonly string[] = []): string[] {
  const problems = leafProblems(configuration);
  if (problems.length > 0) return problems;
  return [
    ...overlaps(configuration, "local"),
    ...overlaps(configuration, "remote"),
    ...remoteSizeProblems(configuration, pools),
  ];
}

/** Ranges that this cluster could never map into its pools. */
function remoteSizeProblems({ spec }: Configuration, pools: readonly string[]): string[] {
  if (pools.length === 0) return [];
  const largest = Math.min(...pools.map((pool) => parseCidr(pool).prefix));
  return (["pod", "external"] as const).flatMap((type) =>
    normalizeCidrs(spec?.remote?.cidr?.[type]).flatMap((cidr, index) =>
      parseCidr(cidr).prefix < largest
        ? [
            `spec.remote.cidr.${type}[${index}]: ${cidr} is larger than every pool of this cluster (${pools.join(", ")})`,
          ]
        : [],
    ),
  );
}

/** An address must belong to one range only, or nobody could tell how to translate it. */
function overlaps({ spec }: Configuration, side: "local" | "remote"): string[] {
  const ranges = (["pod", "external"] as const).flatMap((type) =>
    normalizeCidrs(spec?.[side]?.cidr?.[type]).map((cidr, index) => ({
      cidr,
      path: `spec.${side}.cidr.${type}[${index}]`,
    })),
  );
  return ranges.flatMap(({ cidr, path }, position) =>
    ranges
      .slice(0, position)
      .filter((other) => cidrsOverlap(cidr, other.cidr))
      .map((other) => `${path}: ${cidr} overlaps ${other.path} (${other.cidr})`),
  );
}

function leafProblems(configuration: Configuration): string[] {
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
  if (canonical !== cidr) return [`${path}: "${cidr}" has host bits set: write "${canonical}"`];
  if (parseCidr(cidr).prefix > MAX_PREFIX) {
    return [`${path}: ${cidr} is too small: ${cidrSize(cidr)} of at least ${2 ** (32 - MAX_PREFIX)} addresses`];
  }
  const unusable = UNUSABLE.find((range) => cidrsOverlap(range, cidr));
  return unusable ? [`${path}: ${cidr} overlaps ${unusable}, which is never routed between clusters`] : [];
}

/** What is really there, whatever the type says: the leaves are untyped in the schema. */
function leaf(configuration: Configuration, side: "local" | "remote", type: "pod" | "external"): unknown {
  return configuration.spec?.[side]?.cidr?.[type];
}

import { cidrsOverlap } from "../../../agent/api/cidr.js";
import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { isUnreachable } from "../../../agent/runtime/kube-error.js";
import {
  defineResource,
  known,
  type CallContext,
  type CheckContext,
  type Failures,
  type UnknowableProperties,
} from "../../framework/index.js";
import { detectRanges } from "./detect.js";
import { findInstallation, type Installation } from "./existing.js";
import { foreseeUpgrade, isOtherVersion } from "./foresee-upgrade.js";
import { allocatedRanges, install } from "./install.js";
import { installInputs } from "./install-inputs.js";
import { readInstallation } from "./read.js";
import { resolveRanges, shownAddress, undetected } from "./resolve.js";
import { agentInputs, agentOutputs, type AgentInputs, type AgentOutputs } from "./schema.js";
import { uninstall } from "./uninstall.js";
import { installRights } from "./rights.js";
import { repairDrift } from "../pair-properties.js";
import { forgetAgent } from "../../preconditions/agent.js";
import { foreseeRights, requireRights, rightsToChange } from "../../preconditions/rights.js";
import { VERSION } from "../../version.js";

/** liqo:index:Agent: the software in one cluster. Its ID is the cluster's ID. */
export const agent = defineResource({
  token: "liqo:index:Agent",
  description:
    "The agent in one cluster: custom resource definitions, roles, controller, network fabric and configuration. Two clusters with agents can be peered.",
  inputs: agentInputs,
  outputs: agentOutputs,
  replaceOn: ["clusterId", "namespace", "podCIDRs", "serviceCIDR", "externalCIDR", "internalCIDR", "networkingEnabled"],
  timeouts: { create: 300, update: 300, delete: 300, read: 60 },

  async check(context, inputs, failures, oldInputs) {
    checkRanges(inputs, failures);
    const client = await context.clusterAt("cluster");
    if (!client) return;
    await checkDetection(context, client, inputs, failures, oldInputs !== undefined);
    await checkOccupied(context, client, inputs, failures);
  },

  diff({ inputs, oldInputs, outputs }) {
    // Writing down what was detected before changes nothing.
    const writtenDown = (["podCIDRs", "serviceCIDR", "externalCIDR", "internalCIDR"] as const).filter((key) => {
      const wanted = known<string | string[] | undefined>(inputs[key]);
      return oldInputs[key] === undefined && wanted !== undefined && sameRanges(wanted, outputs[key]);
    });
    // Nor does leaving it out again, as after an import: an update goes by the outputs then.
    const leftOut = (["podCIDRs", "serviceCIDR"] as const).filter((key) => {
      const before = oldInputs[key];
      return inputs[key] === undefined && before !== undefined && sameRanges(before, outputs[key]);
    });
    const { update } = repairDrift({ outputs });
    return { ignore: [...writtenDown, ...leftOut], update: isOtherVersion(outputs) ? [...update, "version"] : update };
  },

  async preview(context, inputs, old): Promise<Partial<UnknowableProperties<AgentOutputs>>> {
    await foreseeInstallation(context, inputs, old?.outputs);
    if (old && isOtherVersion(old.outputs)) await foreseeUpgrade(context, inputs, old.outputs);
    const clusterId = known<string>(inputs.clusterId);
    const namespace = known<string>(inputs.namespace);
    return {
      ...(clusterId === undefined ? {} : { clusterId }),
      ...(namespace === undefined ? {} : { namespace }),
      version: VERSION,
      drift: [],
      ...(old ? {} : { podCIDRs: inputs.podCIDRs, serviceCIDR: inputs.serviceCIDR }),
    };
  },

  async create(context, inputs) {
    const client = await context.client(inputs.cluster);
    const present = await findInstallation(client, context.signal);
    const conflict = present && conflictOf(client, present, inputs);
    if (conflict) throw new Error(conflict);
    await requireRights(context, installRights(client, inputs));
    const resolved = await resolveRanges(client, inputs, {}, context.signal);
    context.checkpoint(inputs.clusterId, { clusterId: inputs.clusterId, namespace: inputs.namespace, ...resolved });
    await install(
      { client, signal: context.signal, status: (line) => context.status(line) },
      installInputs(inputs, resolved),
      { version: present?.version },
    ).finally(() => forgetAgent(client));
    return { id: inputs.clusterId, outputs: await outputsOf(context, client, inputs, resolved) };
  },

  async read(context, { id, inputs, outputs }) {
    const client = await context.client(inputs?.cluster);
    const present = await findInstallation(client, context.signal);
    if (!present) return undefined;
    if (present.clusterId !== id) {
      if (inputs) throw otherAgent(client, present, id, "nothing was read");
      throw new Error(`the agent in cluster ${client.cluster} has the ID ${present.clusterId}, not ${id}`);
    }
    return readInstallation(client, present, inputs, outputs, context.signal);
  },

  async update(context, { id, inputs, oldInputs, outputs }) {
    const client = await context.client(inputs.cluster);
    const present = await findInstallation(client, context.signal);
    const conflict = present && conflictOf(client, present, inputs);
    if (conflict) throw new Error(conflict);
    await requireRights(context, rightsFor(client, inputs, outputs));
    const resolved = await resolveRanges(client, inputs, outputs, context.signal);
    const before = {
      podCIDRs: outputs.podCIDRs ?? resolved.podCIDRs,
      serviceCIDR: outputs.serviceCIDR ?? resolved.serviceCIDR,
    };
    context.checkpoint(id, { clusterId: inputs.clusterId, namespace: inputs.namespace });
    await install(
      { client, signal: context.signal, status: (line) => context.status(line) },
      installInputs(inputs, resolved),
      { inputs: installInputs(oldInputs, { ...resolved, ...before }), version: present?.version },
    ).finally(() => forgetAgent(client));
    return outputsOf(context, client, inputs, resolved);
  },

  async delete(context, { id, inputs, outputs }) {
    const client = await context.client(inputs.cluster);
    const present = await findInstallation(client, context.signal);
    // It is not ours to remove, and ours may well run where the kubeconfig led before.
    if (present && present.clusterId !== id) throw otherAgent(client, present, id, "nothing was deleted");
    const resolved = {
      podCIDRs: outputs.podCIDRs ?? inputs.podCIDRs ?? [],
      serviceCIDR: outputs.serviceCIDR ?? inputs.serviceCIDR ?? "",
      apiServerAddress: "",
    };
    const { signal, deadline } = context;
    await uninstall(
      {
        client,
        signal,
        deadline,
        status: (line) => context.status(line),
        warn: (line) => context.log("warning", line),
      },
      installInputs(inputs, resolved),
      inputs.forceDelete,
    ).finally(() => forgetAgent(client));
  },
});

/** Tells in a preview which rights are missing, where the cluster can be asked. */
async function foreseeInstallation(
  context: CallContext,
  inputs: UnknowableProperties<AgentInputs>,
  present: Partial<AgentOutputs> | undefined,
): Promise<void> {
  const all = known<AgentInputs>(inputs);
  if (!all) return;
  await foreseeRights(context, rightsFor(await context.client(all.cluster), all, present));
}

/** An installation of another version may have other objects. */
function rightsFor(
  client: KubeClient,
  inputs: AgentInputs,
  present: Partial<AgentOutputs> | undefined,
): ReturnType<typeof installRights> {
  const rights = installRights(client, inputs);
  return present && !isOtherVersion(present) ? rightsToChange(rights, present.drift) : rights;
}

/** Ranges of one cluster must be apart from each other. */
function checkRanges(inputs: UnknowableProperties<AgentInputs>, failures: Failures): void {
  const named: [string, string][] = [];
  for (const key of ["serviceCIDR", "externalCIDR", "internalCIDR"] as const) {
    const value = known<string | undefined>(inputs[key]);
    if (value !== undefined) named.push([key, value]);
  }
  (known<string[] | undefined>(inputs.podCIDRs) ?? []).forEach((value, index) =>
    named.push([`podCIDRs[${index}]`, value]),
  );
  named.forEach(([path, range], index) => {
    const other = named.slice(0, index).find(([, earlier]) => cidrsOverlap(earlier, range));
    if (other) failures.add(path, `${range} overlaps ${other[0]} (${other[1]})`);
  });
}

/** Where the cluster does not tell its ranges, the program must. */
async function checkDetection(
  context: CheckContext,
  client: KubeClient,
  inputs: UnknowableProperties<AgentInputs>,
  failures: Failures,
  isInstalled: boolean,
): Promise<void> {
  // Without a network nothing goes by them.
  if (isInstalled || inputs.networkingEnabled === false) return;
  if (inputs.podCIDRs !== undefined && inputs.serviceCIDR !== undefined) return;
  const detected = await detectRanges(client, context.signal).catch((error: unknown) => {
    if (isUnreachable(error)) return undefined;
    throw error;
  });
  if (!detected) return;
  if (inputs.podCIDRs === undefined && detected.podCIDRs.length === 0) {
    failures.add("podCIDRs", undetected(client, "podCIDRs", "pods"));
  } else if (inputs.podCIDRs === undefined && detected.areOfNodes) {
    context.log(
      "warning",
      `podCIDRs: cluster ${client.cluster} tells only the ranges of its present nodes (${detected.podCIDRs.join(", ")}). Nodes that join later may bring others, ` +
        "which no peer would know: set podCIDRs to the range that all of them are taken from",
    );
  }
  if (inputs.serviceCIDR === undefined && detected.serviceCIDR === undefined) {
    failures.add("serviceCIDR", undetected(client, "serviceCIDR", "Services"));
  }
}

/** A cluster has one agent. The one that this resource itself made does not count, also where it is to be replaced. */
async function checkOccupied(
  context: CheckContext,
  client: KubeClient,
  inputs: UnknowableProperties<AgentInputs>,
  failures: Failures,
): Promise<void> {
  const clusterId = known<string>(inputs.clusterId);
  const namespace = known<string>(inputs.namespace);
  if (clusterId === undefined || namespace === undefined) return;
  const present = await findInstallation(client, context.signal);
  if (!present || present.clusterId === context.formerInputs?.["clusterId"]) return;
  const conflict = conflictOf(client, present, { clusterId, namespace });
  if (conflict) failures.add("clusterId", conflict);
}

function conflictOf(
  client: KubeClient,
  present: Installation,
  inputs: Pick<AgentInputs, "clusterId" | "namespace">,
): string | undefined {
  const there = `cluster ${client.cluster} already has an agent with cluster ID ${present.clusterId} in namespace ${present.namespace}`;
  if (!present.ours) return `${there}, which this package did not install: remove it first`;
  if (present.clusterId !== inputs.clusterId) return `${there}: a cluster has one agent, and its ID never changes`;
  if (present.namespace !== inputs.namespace) return `${there}: it cannot move to ${inputs.namespace}`;
  return undefined;
}

/** What the kubeconfig leads to has another agent: that says nothing about the one that the resource was made for. */
function otherAgent(client: KubeClient, present: Installation, expected: string, outcome: string): Error {
  return new Error(
    `cluster: the kubeconfig leads to cluster ${client.cluster}, whose agent has the cluster ID ${present.clusterId}, but this resource was made for ` +
      `${expected}: ${outcome}. Give it that cluster's kubeconfig, or, if the agent ${expected} is gone for good, take the resource out of the state ` +
      "(pulumi state delete URN)",
  );
}

async function outputsOf(
  context: CallContext,
  client: KubeClient,
  inputs: AgentInputs,
  resolved: { podCIDRs: string[]; serviceCIDR: string; apiServerAddress: string },
): Promise<AgentOutputs> {
  const allocated = await allocatedRanges(client, inputs.namespace, context.signal);
  return {
    clusterId: inputs.clusterId,
    version: VERSION,
    namespace: inputs.namespace,
    podCIDRs: allocated.podCIDRs.length > 0 ? allocated.podCIDRs : resolved.podCIDRs,
    serviceCIDR: allocated.serviceCIDR ?? resolved.serviceCIDR,
    externalCIDR: allocated.externalCIDR ?? inputs.externalCIDR ?? "",
    internalCIDR: allocated.internalCIDR ?? inputs.internalCIDR ?? "",
    apiServerAddress: await shownAddress(client, resolved, context.signal),
    drift: [],
  };
}

/** Whether two ranges, or two sets of them, are the same. */
function sameRanges(a: string | string[], b: string | string[] | undefined): boolean {
  const sorted = (value: string | string[] | undefined) =>
    JSON.stringify(
      [value ?? []]
        .flat()
        .map((range) => JSON.stringify(range))
        .sort(),
    );
  return sorted(a) === sorted(b);
}

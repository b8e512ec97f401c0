import { setMaxListeners } from "node:events";
import type { Pod } from "kubernetes-types/core/v1";
import type { z } from "zod";
import { IPResource, InternalNodeResource, Names } from "../../agent/api/index.js";
import { PodResource } from "../../agent/runtime/index.js";
import { installInputs, type ResolvedRanges } from "../../provider/resources/agent/install-inputs.js";
import { install } from "../../provider/resources/agent/install.js";
import { agentInputs } from "../../provider/resources/agent/schema.js";
import type { LabCluster } from "./lab.js";
import { waitFor } from "./wait.js";
import { isReady } from "./workload.js";

interface Chosen
  extends
    Omit<z.input<typeof agentInputs>, "cluster" | "podCIDRs" | "serviceCIDR">,
    Omit<ResolvedRanges, "apiServerAddress"> {
  /** As a release of that version would install it. Default: this one. */
  version?: string;
}

/** Installs the agent by its manifests alone, without Pulumi, and waits until it runs. */
export async function installAgent({ client }: LabCluster, { version, ...chosen }: Chosen): Promise<void> {
  const inputs = agentInputs.parse(chosen);
  const signal = AbortSignal.timeout(180_000);
  // Many requests at a time listen to it.
  setMaxListeners(0, signal);
  const resolved = { podCIDRs: chosen.podCIDRs, serviceCIDR: chosen.serviceCIDR, apiServerAddress: "" };
  const manifests = { ...installInputs(inputs, resolved), ...(version ? { version } : {}) };
  await install({ client, signal, status: () => undefined }, manifests);
}

/** Waits for what an agent makes by itself, a moment after its installation: the addresses that it lends, and what stands for its nodes. */
export async function ownObjects({ client, cluster }: LabCluster): Promise<void> {
  await waitFor(client, IPResource, { timeoutMs: 90_000, what: "the agent's own addresses" }, (all) =>
    [Names.apiServerIP, Names.apiServerProxyIP].every((name) => all.some(({ metadata }) => metadata.name === name)),
  );
  const nodes = { timeoutMs: 90_000, what: "the agent's InternalNodes" };
  await waitFor(client, InternalNodeResource, nodes, ({ length }) => length === cluster.nodes.length);
}

/** All pods of the agent, or those that a selector means, have the image, and those of the other are gone. Tests' own pods of that image are in "default". */
export async function allRun(
  { client }: LabCluster,
  image: string,
  labelSelector?: Record<string, string>,
): Promise<void> {
  const options = {
    labelSelector,
    timeoutMs: 120_000,
    what: `the agent of image ${image} everywhere`,
    describe: (pods: Pod[]) =>
      pods.map(({ metadata, spec }) => `${metadata?.name} ${spec?.containers[0]?.image}`).join(),
  };
  await waitFor(client, PodResource, options, (pods) => {
    const ours = pods.filter(
      ({ metadata, spec }) =>
        metadata?.namespace !== "default" && spec?.containers[0]?.image?.includes("pulumi-liqo/agent:"),
    );
    return ours.length > 0 && ours.every((pod) => pod.spec?.containers[0]?.image === image && isReady(pod));
  });
}

import { setMaxListeners } from "node:events";
import type { z } from "zod";
import { installInputs, type ResolvedRanges } from "../../provider/resources/agent/install-inputs.js";
import { install } from "../../provider/resources/agent/install.js";
import { agentInputs } from "../../provider/resources/agent/schema.js";
import type { LabCluster } from "./lab.js";

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

import { agentManifests } from "../../../agent/install/manifests.js";
import { resourceTypeOf } from "../../../agent/install/kinds.js";
import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { apiVersionOf } from "../../../agent/runtime/resource-type.js";
import { APPLY, type NeededIn, type NeededRight } from "../../preconditions/rights.js";
import { installInputs } from "./install-inputs.js";
import type { AgentInputs } from "./schema.js";

/** What installing the agent needs to be allowed: to apply each kind of its manifests, and to pass on the rights in its roles. */
export function installRights(client: KubeClient, inputs: AgentInputs): NeededIn[] {
  const manifests = agentManifests(installInputs(inputs, { podCIDRs: [], serviceCIDR: "", apiServerAddress: "" }));
  const rights = new Map<string, NeededRight>();
  for (const manifest of manifests) {
    const type = resourceTypeOf(manifest);
    const namespace = type.namespaced ? manifest.metadata?.namespace : undefined;
    const isRole = type.kind === "ClusterRole" || type.kind === "Role";
    const verbs = isRole ? [...APPLY, "escalate", "bind"] : APPLY;
    rights.set(`${apiVersionOf(type)}/${type.kind}/${namespace ?? ""}`, { type, verbs, namespace });
  }
  return [{ where: "cluster", client, rights: [...rights.values()] }];
}

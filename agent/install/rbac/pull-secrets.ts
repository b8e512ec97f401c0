import { NETWORKING, OFFLOADING } from "../../api/groups.js";
import type { ReasonedRule } from "./rule.js";

/** Of what the controller does for the pods of the agent that run in tenant namespaces. Nobody else's role reads the copies there. */
export const PULL_SECRET_RULES: ReasonedRule[] = [
  {
    why: "Pull Secrets that the installation names, watched by their names, and their copies, by their label; copies for gateways and virtual nodes.",
    apiGroups: [""],
    resources: ["secrets"],
    verbs: ["list", "watch", "get", "create", "patch", "delete"],
  },
  {
    why: "Where gateways run.",
    apiGroups: [NETWORKING.group],
    resources: ["wggatewayservers", "wggatewayclients"],
    verbs: ["list", "watch"],
  },
  {
    why: "Where virtual nodes run.",
    apiGroups: [OFFLOADING.group],
    resources: ["virtualnodes"],
    verbs: ["list", "watch"],
  },
  {
    why: "Telling people what happened, on the objects they look at.",
    apiGroups: [""],
    resources: ["events"],
    verbs: ["create", "patch"],
  },
];

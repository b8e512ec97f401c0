import type { ReasonedRule } from "./rule.js";

/** What the controller process itself needs, whatever its areas do. */
export const CONTROLLER_PROCESS_RULES: ReasonedRule[] = [
  {
    why: "Electing the replica that leads.",
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["create", "get", "update", "patch"],
  },
  {
    why: "Telling people what happened, on the objects they look at.",
    apiGroups: [""],
    resources: ["events"],
    verbs: ["create", "patch"],
  },
];

import { CORE, IPAM, NETWORKING, AUTHENTICATION, OFFLOADING } from "../../api/groups.js";
import type { ReasonedRule } from "./rule.js";

/** What the hook before `helm uninstall` looks for. */
export const UNINSTALL_GUARD_RULES: ReasonedRule[] = [
  {
    why: "What of peerings is left, which an uninstallation would tear.",
    onlyWhen: "while `helm uninstall` runs",
    apiGroups: [CORE.group, OFFLOADING.group, AUTHENTICATION.group, NETWORKING.group, IPAM.group],
    resources: [
      "foreignclusters",
      "namespaceoffloadings",
      "resourceslices",
      "virtualnodes",
      "configurations",
      "ips",
      "networks",
    ],
    verbs: ["list"],
  },
];

import type { SecurityContext } from "kubernetes-types/core/v1";

/** Of containers that touch nothing of their node. */
export const UNPRIVILEGED: SecurityContext = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  runAsUser: 65532,
};

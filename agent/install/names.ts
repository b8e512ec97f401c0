/** Names of an installation's objects beyond those of the API (API specification, §10). */
export const InstallNames = {
  controller: "liqo-controller-manager",
  fabric: "liqo-fabric",
  /** Of the Helm chart alone. */
  uninstallGuard: "liqo-uninstall-guard",
  /** Value of `app.kubernetes.io/managed-by` on everything that the provider installs. */
  manager: "pulumi-liqo",
} as const;

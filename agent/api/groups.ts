/** API groups and their versions: one version is served and stored per kind (API specification, §1). */
export const CORE = { group: "core.liqo.io", version: "v1beta1" } as const;
export const AUTHENTICATION = { group: "authentication.liqo.io", version: "v1beta1" } as const;
export const NETWORKING = { group: "networking.liqo.io", version: "v1beta1" } as const;
export const IPAM = { group: "ipam.liqo.io", version: "v1alpha1" } as const;
export const OFFLOADING = { group: "offloading.liqo.io", version: "v1beta1" } as const;

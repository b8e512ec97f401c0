/** Owner of what the controller applies. */
export const FIELD_MANAGER = "liqo-controller-manager";

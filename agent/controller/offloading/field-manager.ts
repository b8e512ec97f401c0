/** The name under which the controller owns the fields it applies. */
export const FIELD_MANAGER = "liqo-controller-manager";

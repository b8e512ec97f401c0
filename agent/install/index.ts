/** The manifests of an installation of the agent: pure functions of its inputs. Nothing here talks to a cluster. */
export * from "./inputs.js";
export * from "./kinds.js";
export * from "./manifests.js";
export * from "./names.js";
export { hasProxy } from "./proxy.js";
export * from "./uninstall-guard.js";

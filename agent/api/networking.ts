export * from "./networking-configuration.js";
export * from "./networking-gateways.js";
export * from "./networking-wireguard.js";
export * from "./networking-fabric.js";
export * from "./networking-rules.js";

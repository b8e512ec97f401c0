export type * from "./networking-configuration.js";
export type * from "./networking-gateways.js";
export type * from "./networking-wireguard.js";
export type * from "./networking-fabric.js";
export type * from "./networking-rules.js";

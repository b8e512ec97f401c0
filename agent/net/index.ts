/** Links, routes and firewall rules of one network namespace by iproute2 and nftables. Nothing here knows Kubernetes. */
export * from "./bridge-port.js";
export * from "./command.js";
export * from "./counter-sums.js";
export * from "./ip.js";
export * from "./level-loop.js";
export * from "./nftables.js";
export * from "./ranges.js";
export * from "./routes.js";
export * from "./tell-changes.js";
export * from "./vxlan.js";

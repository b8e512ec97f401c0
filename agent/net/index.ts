/** Links, routes and firewall rules of one network namespace by iproute2 and nftables. Nothing here knows Kubernetes. */
export * from "./command.js";
export * from "./counter-sums.js";
export * from "./direct-link.js";
export * from "./ip.js";
export * from "./level-loop.js";
export * from "./link-end.js";
export * from "./link-watch.js";
export * from "./nftables.js";
export * from "./pod-port.js";
export * from "./ranges.js";
export * from "./routes.js";
export * from "./tell-changes.js";
export * from "./vxlan.js";

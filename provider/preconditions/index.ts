/** What must hold before a pair of clusters is touched: reachable, agents of fitting versions there, different cluster IDs. */
export * from "./agent.js";
export * from "./departing.js";
export * from "./import-id.js";
export * from "./pair.js";
export * from "./preview.js";
export * from "./rights.js";
export * from "./same-cluster.js";
export * from "./single.js";
export * from "./told-namespace.js";
export * from "./versions.js";

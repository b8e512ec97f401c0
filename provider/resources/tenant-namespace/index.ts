/** The namespace that each cluster keeps for one remote cluster: found, made, and given up when nothing uses it any more. */
export * from "./ensure.js";
export * from "./find.js";
export * from "./labels.js";
export * from "./release.js";
export * from "./rights.js";

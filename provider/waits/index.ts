/** Waits on live objects by watch: each has an end, says what it waits for, and why it did not come. */
export * from "./concurrently.js";
export * from "./departure.js";
export * from "./errors.js";
export * from "./events.js";
export * from "./if-found.js";
export * from "./pod-problems.js";
export * from "./progress.js";
export * from "./wait.js";

/** What every role shares: the typed client, informers, queues, controllers. Nothing here knows Liqo. */
export * from "./backoff.js";
export * from "./conditions.js";
export * from "./controller.js";
export * from "./core-resources.js";
export * from "./event-recorder.js";
export * from "./holder-lease.js";
export * from "./informer.js";
export * from "./join-streams.js";
export * from "./kube-client.js";
export * from "./kube-error.js";
export * from "./kube-transport.js";
export * from "./leader-election.js";
export * from "./logger.js";
export * from "./metadata.js";
export * from "./resource-type.js";
export * from "./shared-informers.js";
export * from "./work-queue.js";

/** What a resource, function or component is made of. Nothing here speaks gRPC or knows Liqo's resources. */
export * from "./cluster-args.js";
export * from "./component.js";
export * from "./context.js";
export * from "./field-info.js";
export * from "./formats.js";
export * from "./function.js";
export * from "./object-metadata.js";
export * from "./property-path.js";
export * from "./provider-config.js";
export * from "./resource.js";
export * from "./unknown.js";

import type { ObjectMeta } from "kubernetes-types/meta/v1";
import type { ResourceType } from "../runtime/resource-type.js";

/** An object of a custom resource. Kinds without status have `never` there. */
export interface CustomObject<Spec, Status = never> {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: Spec;
  status?: Status;
}

/** What an object is built from. */
export type ObjectParts<T extends CustomObject<unknown, unknown>> = Pick<T, "metadata" | "spec"> &
  Partial<Pick<T, "status">>;

/** Describes a kind to the Kubernetes client, and makes its objects. */
export interface CustomResource<T extends CustomObject<unknown, unknown>> extends ResourceType<T> {
  /** As objects write it: "networking.liqo.io/v1beta1". */
  readonly apiVersion: string;
  /** An object of this kind. */
  build(parts: ObjectParts<T>): T;
}

/** A kind as the API server knows it. */
export type KindNames = Pick<ResourceType, "group" | "version" | "kind" | "plural" | "namespaced">;

const defined: CustomResource<CustomObject<unknown, unknown>>[] = [];

/** All kinds named so far, in order. */
export function definedResources(): readonly CustomResource<CustomObject<unknown, unknown>>[] {
  return defined;
}

/** Names a kind; `T` is the type of its objects, which derives from the kind's schema (definition.ts). */
export function defineKind<T extends CustomObject<unknown, unknown>>(names: KindNames): CustomResource<T> {
  const { kind } = names;
  const apiVersion = `${names.group}/${names.version}`;
  const resource: CustomResource<T> = {
    ...names,
    apiVersion,
    build: (parts) => ({ apiVersion, kind, ...parts }) as T,
  };
  defined.push(resource);
  return resource;
}

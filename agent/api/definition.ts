import type { ObjectMeta } from "kubernetes-types/meta/v1";
import { z } from "zod";
import type { ResourceType } from "../runtime/resource-type.js";
import { crdOf, type PrinterColumn } from "./crd-manifest.js";
import { prettyPath, withoutNulls } from "./parsing.js";
import { object } from "./schema.js";
import type { CustomResourceDefinition } from "kubernetes-types/apiextensions/v1";

/** An object of a custom resource. Kinds without status have `never` there. */
export interface CustomObject<Spec, Status = never> {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: Spec;
  status?: Status;
}

/** Everything about one kind, from which type, validation and CRD derive. */
export interface ResourceDefinition<Spec extends z.ZodType, Status extends z.ZodType> {
  group: string;
  version: string;
  kind: string;
  plural: string;
  /** Default: the kind in lower case. */
  singular?: string;
  shortNames?: string[];
  namespaced: boolean;
  /** Whether an object without spec is refused. Otherwise the API server fills in an empty one. */
  specRequired?: boolean;
  spec: Spec;
  /** Present: the kind has a status subresource. */
  status?: Status;
  columns: PrinterColumn[];
  /** Labels of the CRD itself. */
  labels?: Record<string, string>;
}

/** What an object is built from. */
export type ObjectParts<T extends CustomObject<unknown, unknown>> = Pick<T, "metadata" | "spec"> &
  Partial<Pick<T, "status">>;

/** Describes a kind to the Kubernetes client, and validates its objects. */
export interface CustomResource<T extends CustomObject<unknown, unknown>> extends ResourceType<T> {
  /** As objects write it: "networking.liqo.io/v1beta1". */
  readonly apiVersion: string;
  /** An object of this kind. */
  build(parts: ObjectParts<T>): T;
  /**
   * Validates an object that came from outside (a manifest, another cluster). Unknown fields are kept; nulls count as
   * absent.
   *
   * @throws Error naming kind, namespace, name and the path of each wrong property
   */
  parse(value: unknown): T;
  /** The manifest for the API server. */
  crd(): CustomResourceDefinition;
}

const defined: CustomResource<CustomObject<unknown, unknown>>[] = [];

/** All kinds defined so far, in order of definition. */
export function definedResources(): readonly CustomResource<CustomObject<unknown, unknown>>[] {
  return defined;
}

/** Defines a kind; its type is `ObjectOf<typeof …>`. */
export function defineResource<Spec extends z.ZodType, Status extends z.ZodType = z.ZodNever>(
  definition: ResourceDefinition<Spec, Status>,
): CustomResource<CustomObject<z.output<Spec>, z.output<Status>>> {
  type T = CustomObject<z.output<Spec>, z.output<Status>>;
  const { group, version, kind, plural, namespaced } = definition;
  const apiVersion = `${group}/${version}`;
  const resource: CustomResource<T> = {
    group,
    version,
    kind,
    plural,
    namespaced,
    apiVersion,
    build: (parts) => ({ apiVersion, kind, ...parts }),
    parse: parserOf(definition, apiVersion) as (value: unknown) => T,
    crd: () => crdOf(definition),
  };
  defined.push(resource);
  return resource;
}

/** The object type of a kind. */
export type ObjectOf<R> = R extends CustomResource<infer T> ? T : never;

function parserOf(
  definition: ResourceDefinition<z.ZodType, z.ZodType>,
  apiVersion: string,
): (value: unknown) => unknown {
  const schema = object({
    apiVersion: z.literal(apiVersion),
    kind: z.literal(definition.kind),
    metadata: z.looseObject({ name: z.string().optional(), namespace: z.string().optional() }).default({}),
    spec: definition.specRequired ? definition.spec : z.preprocess((spec) => spec ?? {}, definition.spec),
    ...(definition.status ? { status: definition.status.optional() } : {}),
  });
  return (value) => {
    const result = schema.safeParse(withoutNulls(value));
    if (result.success) return result.data;
    const problems = result.error.issues.map((issue) => `${prettyPath(issue.path)}: ${issue.message}`);
    throw new Error(`${identify(definition.kind, value)} is not valid: ${problems.join("; ")}`);
  };
}

function identify(kind: string, value: unknown): string {
  const metadata = (value as { metadata?: ObjectMeta } | null | undefined)?.metadata;
  const name = metadata?.name ?? "(without name)";
  return metadata?.namespace ? `${kind} ${metadata.namespace}/${name}` : `${kind} ${name}`;
}

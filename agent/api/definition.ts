import type { ObjectMeta } from "kubernetes-types/meta/v1";
import { z } from "zod";
import { crdOf, type PrinterColumn } from "./crd-manifest.js";
import type { CustomObject, CustomResource } from "./kind.js";
import { prettyPath, withoutNulls } from "./parsing.js";
import { object } from "./schema.js";
import type { ValidationRule } from "./schema-hints.js";
import type { CustomResourceDefinition } from "kubernetes-types/apiextensions/v1";

/** What there is to a kind beside its names: from it type, validation and CRD derive. */
export interface ResourceSchema<T extends CustomObject<unknown, unknown>> {
  /** Default: the kind in lower case. */
  singular?: string;
  shortNames?: string[];
  /** Whether an object without spec is refused. Otherwise the API server fills in an empty one. */
  specRequired?: boolean;
  /** Of the object as a whole: spec beside `self.metadata.name`. */
  rules?: ValidationRule[];
  spec: z.ZodType<T["spec"]>;
  /** Present: the kind has a status subresource. */
  status?: z.ZodType<NonNullable<T["status"]>>;
  columns: PrinterColumn[];
  /** Labels of the CRD itself. */
  labels?: Record<string, string>;
}

/** Validates a kind's objects, and describes them to the API server. */
export interface ResourceDefinition<T extends CustomObject<unknown, unknown>> {
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

const defined: Pick<ResourceDefinition<CustomObject<unknown, unknown>>, "crd">[] = [];

/** All kinds that have been given a schema so far, in order. */
export function definitions(): readonly Pick<ResourceDefinition<CustomObject<unknown, unknown>>, "crd">[] {
  return defined;
}

/** Gives a kind its schema. */
export function defineResource<T extends CustomObject<unknown, unknown>>(
  resource: CustomResource<T>,
  schema: ResourceSchema<T>,
): ResourceDefinition<T> {
  const { group, version, kind, plural, namespaced } = resource;
  const definition: ResourceDefinition<T> = {
    parse: parserOf(resource, schema) as (value: unknown) => T,
    crd: () => crdOf({ group, version, kind, plural, namespaced, ...schema }),
  };
  defined.push(definition);
  return definition;
}

function parserOf<T extends CustomObject<unknown, unknown>>(
  { apiVersion, kind }: CustomResource<T>,
  definition: ResourceSchema<T>,
): (value: unknown) => unknown {
  const schema = object({
    apiVersion: z.literal(apiVersion),
    kind: z.literal(kind),
    metadata: z.looseObject({ name: z.string().optional(), namespace: z.string().optional() }).default({}),
    spec: definition.specRequired ? definition.spec : z.preprocess((spec) => spec ?? {}, definition.spec),
    ...(definition.status ? { status: definition.status.optional() } : {}),
  });
  return (value) => {
    const result = schema.safeParse(withoutNulls(value));
    if (result.success) return result.data;
    const problems = result.error.issues.map((issue) => `${prettyPath(issue.path)}: ${issue.message}`);
    throw new Error(`${identify(kind, value)} is not valid: ${problems.join("; ")}`);
  };
}

function identify(kind: string, value: unknown): string {
  const metadata = (value as { metadata?: ObjectMeta } | null | undefined)?.metadata;
  const name = metadata?.name ?? "(without name)";
  return metadata?.namespace ? `${kind} ${metadata.namespace}/${name}` : `${kind} ${name}`;
}

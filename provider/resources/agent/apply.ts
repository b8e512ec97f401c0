import type { CustomResourceDefinition } from "kubernetes-types/apiextensions/v1";
import { apiVersionOf, describeObject, type KubeObject } from "../../../agent/runtime/resource-type.js";
import { InstallNames } from "../../../agent/install/names.js";
import { resourceTypeOf } from "../../../agent/install/kinds.js";
import { CustomResourceDefinitionResource } from "../../../agent/runtime/core-resources.js";
import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { isNotFound } from "../../../agent/runtime/kube-error.js";
import { retryUntil, waitForObjects } from "./waiting.js";
import { forEachParallel } from "./parallel.js";

/** Requests at a time: an API server's fair share for one client is about this. */
const PARALLEL = 12;

/** What applying needs of its caller. */
export interface ApplyContext {
  client: KubeClient;
  signal: AbortSignal;
  status(line: string): void;
}

/** Applies manifests in an order that works: the namespace, then CRDs until they are served, then the rest; webhook configurations last. */
export async function applyManifests(context: ApplyContext, manifests: KubeObject[]): Promise<void> {
  const rank = (object: KubeObject) => PHASES.findIndex((kinds) => kinds.includes(object.kind ?? ""));
  const phase = (index: number) => manifests.filter((object) => rank(object) === index);
  context.status("applying namespace and custom resource definitions");
  await apply(context, phase(0));
  await apply(context, phase(1));
  context.status("applying roles, configuration and workloads");
  await untilServed(context, phase(1) as CustomResourceDefinition[]);
  await apply(context, phase(-1));
  await apply(context, phase(2));
}

const PHASES: readonly (readonly string[])[] = [
  ["Namespace"],
  ["CustomResourceDefinition"],
  ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
];

function apply(context: ApplyContext, objects: KubeObject[]): Promise<void> {
  return forEachParallel(objects, PARALLEL, async (object) => {
    const type = resourceTypeOf(object);
    const once = () =>
      context.client.apply(type, object, { fieldManager: InstallNames.manager, signal: context.signal });
    // A kind whose definition was accepted a moment ago may still be unknown to the server that answers.
    await retryUntil(once, isNotFound, context.signal, describeObject(type, object.metadata?.name ?? ""));
  });
}

async function untilServed(context: ApplyContext, definitions: CustomResourceDefinition[]): Promise<void> {
  const names = new Set(definitions.map((definition) => definition.metadata?.name ?? ""));
  await waitForObjects(context, CustomResourceDefinitionResource, {}, (present) => {
    const ready = present.filter((one) => names.has(one.metadata?.name ?? "") && isEstablished(one));
    return ready.length === names.size ? undefined : "waiting until the custom resource definitions are served";
  });
}

function isEstablished(definition: CustomResourceDefinition): boolean {
  return (
    definition.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") ?? false
  );
}

/** How two sets of manifests name the same object. */
export function identityOf(object: KubeObject): string {
  const type = resourceTypeOf(object);
  return `${apiVersionOf(type)}/${describeObject(type, object.metadata?.name ?? "", object.metadata?.namespace)}`;
}

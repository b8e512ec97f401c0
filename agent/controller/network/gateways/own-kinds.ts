import type { CustomResourceDefinition } from "kubernetes-types/apiextensions/v1";
import { Labels, type EndpointStatus, type GatewayTemplateSpec, type InternalEndpoint } from "../../../api/index.js";
import type { ObjectReference } from "../../../api/index.js";
import {
  CustomResourceDefinitionResource,
  discoverKind,
  keyOf,
  splitVersion,
  type Informer,
  type KubeObject,
  type ResourceType,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";

/** A template of a kind that users bring. */
export type OwnTemplate = KubeObject & { spec?: GatewayTemplateSpec };

/** What such a template makes: somebody else's controller runs it, and tells of it in these fields. */
export type OwnWorkload = KubeObject & {
  status?: {
    endpoint?: EndpointStatus;
    internalEndpoint?: InternalEndpoint;
    secretRef?: ObjectReference;
    publicKey?: string;
  };
};

const SELECTOR = `${Labels.gatewayTemplate}=true`;

/**
 * Kinds that users bring (network specification, §5.1): templates by the label of their CustomResourceDefinition, and what they
 * make, which is watched from the first one on.
 */
export class OwnKinds {
  private readonly definitions: Informer<CustomResourceDefinition>;
  private readonly templates = new Map<string, Informer<OwnTemplate>>();
  private readonly workloads = new Map<string, Informer<OwnWorkload>>();

  constructor(
    private readonly context: Pick<ControllerContext, "client" | "informers">,
    private readonly watch: {
      template: (informer: Informer<OwnTemplate>) => void;
      workload: (informer: Informer<OwnWorkload>) => void;
    },
  ) {
    this.definitions = context.informers.for(CustomResourceDefinitionResource, {
      labelSelector: SELECTOR,
      trim: withoutSchema,
    });
  }

  /** Changes of these may make a kind known. */
  get known(): Informer<CustomResourceDefinition> {
    return this.definitions;
  }

  /** The templates of a kind; undefined where no definition is labelled as one of that kind. */
  templatesOf(apiVersion: string, kind: string): Informer<OwnTemplate> | undefined {
    const { group, version } = splitVersion(apiVersion);
    const definition = this.definitions.list().find(({ spec }) => spec.group === group && spec.names.kind === kind);
    if (!definition) return undefined;
    const { names, scope } = definition.spec;
    const type = { group, version, kind, plural: names.plural, namespaced: scope === "Namespaced" };
    return this.watched(this.templates, type, this.watch.template);
  }

  /** The objects of a kind that a template makes; undefined where the API server has no such kind. */
  async workloadsOf(apiVersion: string, kind: string): Promise<Informer<OwnWorkload> | undefined> {
    const present = this.workloads.get(`${apiVersion} ${kind}`);
    if (present) return present;
    const type = await discoverKind(this.context.client, apiVersion, kind);
    return type && this.watched(this.workloads, type, this.watch.workload);
  }

  /** Of all kinds that templates have made since the start. */
  get madeSoFar(): Informer<OwnWorkload>[] {
    return [...this.workloads.values()];
  }

  private watched<T extends KubeObject>(
    informers: Map<string, Informer<T>>,
    type: ResourceType<T>,
    watch: (informer: Informer<T>) => void,
  ): Informer<T> {
    const key = `${type.group ? `${type.group}/` : ""}${type.version} ${type.kind}`;
    const present = informers.get(key);
    if (present) return present;
    const informer = this.context.informers.for(type);
    informers.set(key, informer);
    watch(informer);
    return informer;
  }
}

/** The gateway that an object belongs to. */
export function gatewayKeys(gatewayKind: string, { metadata }: KubeObject): string[] {
  return (metadata?.ownerReferences ?? [])
    .filter(({ kind }) => kind === gatewayKind)
    .map(({ name }) => keyOf({ metadata: { name, namespace: metadata?.namespace } }));
}

function withoutSchema({ metadata, spec }: CustomResourceDefinition): CustomResourceDefinition {
  const { name, uid, resourceVersion } = metadata ?? {};
  return { metadata: { name, uid, resourceVersion }, spec: { ...spec, versions: [] } };
}

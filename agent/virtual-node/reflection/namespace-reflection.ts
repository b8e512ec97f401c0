import type { Node } from "kubernetes-types/core/v1";
import { customResourceName } from "../../api/custom-resource.js";
import type { KubeObject } from "../../runtime/index.js";
import { Informer, NodeResource } from "../../runtime/index.js";
import type { NamespacePair, VirtualNodeContext } from "../context.js";
import type { NamespaceActivity } from "../namespaces/namespace-manager.js";
import { configMapKind, rootCaKind } from "./config-map.js";
import { CustomResourceProblems } from "./custom-resource-problems.js";
import { customResourceKind, customResourceType } from "./custom-resource.js";
import { endpointSliceKind } from "./endpoint-slice.js";
import { ingressKind } from "./ingress.js";
import { ownInformers, watchLocalNamespace, type LocalNamespace } from "./local-namespace.js";
import { persistentVolumeClaimKind } from "./persistent-volume-claim.js";
import type { ReflectedKind, ReflectionScope } from "./reflected-kind.js";
import { Reflector } from "./reflector.js";
import { secretKind } from "./secret.js";
import { serviceKind } from "./service.js";

/** Joins a kind to the informers of the consumer's objects that it reads. */
interface Entry {
  start(): void;
  stop(): Promise<void>;
  open(scope: ReflectionScope): NamespaceActivity;
  enqueueAll(namespace?: string): void;
}

interface EntryOptions<L extends KubeObject, R extends KubeObject> {
  /** What of the kind is reflected also where it is not to have any workers. */
  always?: ReflectedKind<L, R>;
  /** Told when the provider's objects cannot be watched. */
  onFailure?: (error: unknown) => void;
}

/**
 * Reflects Services, EndpointSlices, Ingresses, ConfigMaps, Secrets, PersistentVolumeClaims and chosen custom resources of offloaded namespaces to the provider. One virtual node
 * per provider does this: the one that holds the lease.
 */
export class NamespaceReflection {
  private readonly nodes: Informer<Node>;
  private readonly entries: Entry[];
  private readonly slices: Entry;
  private readonly claims: Entry;
  private readonly problems: CustomResourceProblems;
  private readonly namespaces = new Map<string, LocalNamespace>();

  constructor(private readonly context: VirtualNodeContext) {
    const { local, logger, config } = context;
    this.problems = new CustomResourceProblems(context);
    this.nodes = new Informer(local, NodeResource, { trim: clusterLabelOnly, logger });
    this.slices = this.entry(endpointSliceKind, ({ endpointSlices }) => [endpointSlices]);
    this.claims = this.entry(persistentVolumeClaimKind, ({ claims }) => [claims]);
    this.entries = [
      this.entry(serviceKind, ({ services }) => [services]),
      this.slices,
      this.entry(ingressKind, ({ ingresses }) => [ingresses]),
      this.entry(configMapKind, ({ configMaps, rootCa }) => (rootCa ? [configMaps, rootCa] : [configMaps]), {
        always: rootCaKind,
      }),
      this.entry(secretKind, ({ secrets }) => [secrets]),
      this.claims,
      ...config.customResources.map((resource) => {
        const type = customResourceType(resource);
        return this.entry(
          customResourceKind(type),
          ({ customResources }) =>
            [customResources.get(customResourceName(resource))].filter((one) => one !== undefined),
          { onFailure: (error) => this.problems.tell(type, error) },
        );
      }),
    ];
    this.nodes.onEvent((event) => {
      if (
        event.type === "updated" &&
        JSON.stringify(event.old.metadata?.labels) === JSON.stringify(event.object.metadata?.labels)
      )
        return;
      this.slices.enqueueAll();
      // A claim may name a node before the node is known here.
      this.claims.enqueueAll();
    });
    // By these, addresses of other providers are told as those call them.
    context.state.configurations.onEvent(() => this.slices.enqueueAll());
    // Classes and what is not to be reflected.
    context.state.virtualNodes.onEvent(() => this.enqueueAll());
  }

  async start(): Promise<void> {
    this.nodes.start();
    await this.nodes.waitForSync();
    for (const entry of this.entries) entry.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.entries.map((entry) => entry.stop()));
    await this.nodes.stop();
  }

  /** Reflects a namespace until stopped. */
  open(pair: NamespacePair): NamespaceActivity {
    const local = watchLocalNamespace(this.context, pair.local, this.nodes, (type, error) =>
      this.problems.tell(type, error),
    );
    this.namespaces.set(pair.local, local);
    const scope: ReflectionScope = {
      context: this.context,
      pair,
      local,
      policy: "DenyList",
      logger: this.context.logger,
    };
    const activities = this.entries.map((entry) => entry.open(scope));
    // A slice follows its Service's annotations, and the addresses that its endpoints get.
    local.services.onEvent((event) => {
      const annotations = (object: KubeObject): string => JSON.stringify(object.metadata?.annotations ?? {});
      if (event.type !== "updated" || annotations(event.old) !== annotations(event.object)) {
        this.slices.enqueueAll(pair.local);
      }
    });
    // With a selector a slice is told by its Service's absence, which counts once all are known.
    local.services.onSync(() => this.slices.enqueueAll(pair.local));
    local.ips.onEvent(() => this.slices.enqueueAll(pair.local));
    // Slices wait until both are known, and either may be none.
    for (const informer of [local.services, local.ips]) informer.onSync(() => this.slices.enqueueAll(pair.local));
    for (const informer of ownInformers(local)) informer.start();
    return {
      stop: async () => {
        this.namespaces.delete(pair.local);
        await Promise.all(activities.map((activity) => activity.stop()));
        await Promise.all(ownInformers(local).map((informer) => informer.stop()));
      },
      withdraw: async () => {
        await Promise.all([
          ...local.services.list().map((service) => serviceKind.withdrawn?.(service, scope)),
          ...local.ingresses.list().map((ingress) => ingressKind.withdrawn?.(ingress, scope)),
        ]);
      },
    };
  }

  /** The consumer's object of a kind that is known by a name at the provider; "unknown" while its namespace's objects are not known here. */
  localObject(pair: NamespacePair, kind: string, remoteName: string): KubeObject | "unknown" | undefined {
    const local = this.namespaces.get(pair.local);
    if (!local) return "unknown";
    const informers = informersOfKind(local, kind);
    const found = informers.map((informer) => informer.find(pair.local, remoteName)).find((one) => one !== undefined);
    if (found) return found;
    return informers.every(({ hasSynced }) => hasSynced) ? undefined : "unknown";
  }

  private enqueueAll(): void {
    for (const entry of this.entries) entry.enqueueAll();
  }

  private entry<L extends KubeObject, R extends KubeObject>(
    kind: ReflectedKind<L, R>,
    informersOf: (local: LocalNamespace) => Informer<L>[],
    { always, onFailure }: EntryOptions<L, R> = {},
  ): Entry {
    const { workers, policy } = this.context.config.reflection[kind.name] ?? DEFAULT_SETTINGS;
    const reflector =
      workers === 0 && always
        ? new Reflector(this.context, always, 1, onFailure)
        : new Reflector(this.context, kind, workers, onFailure);
    return {
      start: () => reflector.start(),
      stop: () => reflector.stop(),
      open: (scope) =>
        workers === 0 && !always ? NOTHING : reflector.open({ ...scope, policy }, informersOf(scope.local)),
      enqueueAll: (namespace) => reflector.enqueueAll(namespace),
    };
  }
}

const DEFAULT_SETTINGS = { workers: 3, policy: "DenyList" } as const;
const NOTHING: NamespaceActivity = { stop: () => Promise.resolve() };

/** Those that have the consumer's objects of a kind that events are about. */
function informersOfKind(local: LocalNamespace, kind: string): Pick<Informer<KubeObject>, "find" | "hasSynced">[] {
  switch (kind) {
    case "Service":
      return [local.services];
    case "EndpointSlice":
      return [local.endpointSlices];
    case "Ingress":
      return [local.ingresses];
    case "ConfigMap":
      return local.rootCa ? [local.configMaps, local.rootCa] : [local.configMaps];
    case "Secret":
      return [local.secrets];
    case "PersistentVolumeClaim":
      return [local.claims];
    default:
      return [];
  }
}

function clusterLabelOnly({ apiVersion, kind, metadata }: Node): Node {
  const { name, uid, resourceVersion, labels } = metadata ?? {};
  return { apiVersion, kind, metadata: { name, uid, resourceVersion, labels } };
}

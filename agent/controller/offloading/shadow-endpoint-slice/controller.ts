import {
  ConfigurationResource,
  ForeignClusterResource,
  Labels,
  LabelValues,
  NetworkResource,
  ShadowEndpointSliceResource,
  type ShadowEndpointSlice,
} from "../../../api/index.js";
import { Controller, EndpointSliceResource, NodeResource, isDeleting, keyOf, listed } from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { configurationOf } from "../configuration-of.js";
import { FIELD_MANAGER } from "../field-manager.js";
import { isPeerReachable } from "../peer-state.js";
import { addressGuard, addressesOfNode, addressesOfSlice } from "./address-guard.js";
import { endpointSliceOf } from "./mapping.js";

const BY_ADDRESS = "shadow-endpoint-slice/address";
/** So many addresses are named in an event. */
const NAMED = 10;

/**
 * On the provider. Watches ShadowEndpointSlices, their EndpointSlices, Configurations and ForeignClusters; and Networks, Nodes and the API servers' EndpointSlices,
 * which no consumer's endpoint may lead to. Owns one EndpointSlice for each
 * ShadowEndpointSlice, of the same name, by which this cluster's Services reach the consumer's pods (offloading
 * specification, §8.6).
 */
export function shadowEndpointSliceController(context: ControllerContext): Controller {
  const { client, informers, config, logger } = context;
  const shadows = informers.for(ShadowEndpointSliceResource);
  const slices = informers.for(EndpointSliceResource, {
    labelSelector: `${Labels.managedBy}=${LabelValues.shadowEndpointSliceManager}`,
  });
  const configurations = informers.for(ConfigurationResource);
  const foreignClusters = informers.for(ForeignClusterResource);
  const networks = informers.for(NetworkResource);
  const nodes = informers.for(NodeResource).addIndex(BY_ADDRESS, addressesOfNode);
  const apiServers = informers
    .for(EndpointSliceResource, { namespace: "default", labelSelector: "kubernetes.io/service-name=kubernetes" })
    .addIndex(BY_ADDRESS, addressesOfSlice);
  const events = context.recorder("shadow-endpoint-slice-controller");
  /** What was last told of each. */
  const told = new Map<string, string>();

  async function reconcile(key: string): Promise<void> {
    const shadow = shadows.get(key);
    if (!shadow) {
      told.delete(key);
      return removeOrphan(key);
    }
    if (isDeleting(shadow)) return;
    const reachable = isPeerReachable(foreignClusters.get(originOf(shadow)));
    const { slice: desired, refused } = endpointSliceOf(shadow, {
      reachable,
      configurationOf: (clusterID) => configurationOf(configurations, clusterID),
      guard: addressGuard({
        networks: networks.inNamespace(config.namespace),
        configurations: configurations.list(),
        isHost: (address) => [nodes, apiServers].some((hosts) => hosts.byIndex(BY_ADDRESS, address).length > 0),
      }),
    });
    tellRefused(key, shadow, refused);
    const present = slices.get(key);
    if (present && present.addressType !== desired.addressType) {
      // The address type cannot be changed; the deletion brings the next pass.
      await client.delete(EndpointSliceResource, nameOf(shadow), { uid: present.metadata?.uid });
      return;
    }
    slices.observe(await client.apply(EndpointSliceResource, desired, { fieldManager: FIELD_MANAGER }));
  }

  function tellRefused(key: string, shadow: ShadowEndpointSlice, refused: string[]): void {
    const message = `endpoints left out: ${listed(refused, NAMED)}: in cluster ${config.clusterId} these are addresses of its nodes, API server, pods, Services or other peers, which no consumer's endpoints may have; name addresses of your own pods, or reached from your cluster`;
    if (refused.length === 0) told.delete(key);
    else if (told.get(key) !== message) {
      told.set(key, message);
      events.warning(ShadowEndpointSliceResource, shadow, "EndpointsRefused", message);
    }
  }

  async function removeOrphan(key: string): Promise<void> {
    const present = slices.get(key);
    if (!present || isDeleting(present)) return;
    const { name = "", namespace, uid } = present.metadata ?? {};
    if (await client.get(ShadowEndpointSliceResource, { name, namespace })) return;
    await client.delete(EndpointSliceResource, { name, namespace }, { uid });
  }

  const ofOrigin = (clusterID: string): string[] =>
    shadows
      .list()
      .filter((shadow) => originOf(shadow) === clusterID)
      .map(keyOf);
  const all = (): string[] => shadows.list().map(keyOf);
  return (
    new Controller({ name: "shadow-endpoint-slice", reconcile, logger, workers: 5 })
      .watch(shadows)
      .watch(slices)
      // By its own, a slice's addresses are translated; by every other one's it is known which are not the consumer's.
      .watch(configurations, all)
      .watch(networks, all)
      .watch(nodes, (node, event) =>
        event.type === "updated" && isSame(addressesOfNode(event.old), addressesOfNode(node)) ? [] : all(),
      )
      .watch(apiServers, (slice, event) =>
        event.type === "updated" && isSame(addressesOfSlice(event.old), addressesOfSlice(slice)) ? [] : all(),
      )
      .watch(foreignClusters, (foreignCluster, event) =>
        event.type === "updated" && isPeerReachable(event.old) === isPeerReachable(event.object)
          ? []
          : ofOrigin(foreignCluster.metadata.name ?? ""),
      )
  );
}

function isSame(before: string[], after: string[]): boolean {
  return before.join() === after.join();
}

function originOf({ metadata }: ShadowEndpointSlice): string {
  return metadata.labels?.[Labels.offloadingOrigin] ?? "";
}

function nameOf({ metadata }: ShadowEndpointSlice): { name: string; namespace?: string } {
  return { name: metadata.name ?? "", namespace: metadata.namespace };
}

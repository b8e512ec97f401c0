import {
  ConfigurationResource,
  ForeignClusterResource,
  Labels,
  LabelValues,
  ShadowEndpointSliceResource,
  type ShadowEndpointSlice,
} from "../../../api/index.js";
import { Controller, EndpointSliceResource, isDeleting, keyOf } from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { configurationOf } from "../configuration-of.js";
import { FIELD_MANAGER } from "../field-manager.js";
import { isPeerReachable } from "../peer-state.js";
import { clustersBehind, endpointSliceOf } from "./mapping.js";

/**
 * On the provider. Watches ShadowEndpointSlices, their EndpointSlices, Configurations and ForeignClusters. Owns one EndpointSlice for each
 * ShadowEndpointSlice, of the same name, by which this cluster's Services reach the consumer's pods (offloading
 * specification, §8.6).
 */
export function shadowEndpointSliceController({ client, informers, logger }: ControllerContext): Controller {
  const shadows = informers.for(ShadowEndpointSliceResource);
  const slices = informers.for(EndpointSliceResource, {
    labelSelector: `${Labels.managedBy}=${LabelValues.shadowEndpointSliceManager}`,
  });
  const configurations = informers.for(ConfigurationResource);
  const foreignClusters = informers.for(ForeignClusterResource);

  async function reconcile(key: string): Promise<void> {
    const shadow = shadows.get(key);
    if (!shadow) return removeOrphan(key);
    if (isDeleting(shadow)) return;
    const reachable = isPeerReachable(foreignClusters.get(originOf(shadow)));
    const desired = endpointSliceOf(shadow, {
      reachable,
      configurationOf: (clusterID) => configurationOf(configurations, clusterID),
    });
    const present = slices.get(key);
    if (present && present.addressType !== desired.addressType) {
      // The address type cannot be changed; the deletion brings the next pass.
      await client.delete(EndpointSliceResource, nameOf(shadow), { uid: present.metadata?.uid });
      return;
    }
    slices.observe(await client.apply(EndpointSliceResource, desired, { fieldManager: FIELD_MANAGER }));
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
  const mappedBy = (clusterID: string): string[] =>
    shadows
      .list()
      .filter((shadow) => clustersBehind(shadow).includes(clusterID))
      .map(keyOf);
  return new Controller({ name: "shadow-endpoint-slice", reconcile, logger, workers: 5 })
    .watch(shadows)
    .watch(slices)
    .watch(configurations, ({ metadata }) => mappedBy(metadata.labels?.[Labels.remoteClusterID] ?? ""))
    .watch(foreignClusters, (foreignCluster, event) =>
      event.type === "updated" && isPeerReachable(event.old) === isPeerReachable(event.object)
        ? []
        : ofOrigin(foreignCluster.metadata.name ?? ""),
    );
}

function originOf({ metadata }: ShadowEndpointSlice): string {
  return metadata.labels?.[Labels.offloadingOrigin] ?? "";
}

function nameOf({ metadata }: ShadowEndpointSlice): { name: string; namespace?: string } {
  return { name: metadata.name ?? "", namespace: metadata.namespace };
}

import { Annotations, Labels, Names, RESOURCE_SLICE_NAME_MAX_LENGTH, ResourceSliceResource } from "../../api/index.js";
import type { ResourceSlice } from "../../api/index.js";
import { isDeleting, isOwnedBy } from "../../runtime/index.js";
import { lossesWithout, lossInformers, type LossInformers } from "../offloading/cluster-losses.js";
import { allow, deny, type AdmissionHandler, type AdmissionRequest } from "./admission.js";
import type { AdmissionAnswer } from "./admission.js";
import type { WebhookContext } from "./context.js";
import { whenSynced } from "./when-synced.js";

/**
 * Source slices have names unique in the cluster; the peer may not touch what the provider's administrator sets (API specification, §12). With a slice go the virtual
 * nodes made from it: where users' data would go with them, it stays.
 */
export function resourceSliceValidator({ informers }: WebhookContext): AdmissionHandler {
  const slices = informers.for(ResourceSliceResource);
  const known = lossInformers(informers);
  return whenSynced([slices, ...Object.values(known)], (request) => {
    const { object, oldObject, operation, userInfo } = request as AdmissionRequest<ResourceSlice>;
    if (operation === "DELETE" && oldObject) return isDeleting(oldObject) ? allow() : checkEnd(oldObject, known);
    if (!object) return allow();
    if (operation === "CREATE") return checkNewSlice(object, slices.list());
    return oldObject ? checkSliceUpdate(oldObject, object, userInfo.groups ?? []) : allow();
  });
}

export function checkNewSlice(slice: ResourceSlice, slices: readonly ResourceSlice[]): AdmissionAnswer {
  const { name = "", namespace, labels } = slice.metadata;
  if (labels?.[Labels.replicated] === "true") return allow();
  if (name.length > RESOURCE_SLICE_NAME_MAX_LENGTH) {
    return deny(
      `a ResourceSlice's name has at most ${RESOURCE_SLICE_NAME_MAX_LENGTH} characters, as it becomes part of a user name; "${name}" has ${name.length}`,
    );
  }
  const sameName = slices.filter((other) => other.metadata.name === name);
  const source = sameName.find((other) => other.metadata.labels?.[Labels.replication] === "true");
  if (source && source.metadata.namespace !== namespace) {
    return deny(
      `a resourceslice with the same name already exists in the cluster: ${source.metadata.namespace}/${name}; the virtual nodes would clash`,
    );
  }
  return allow();
}

function checkEnd(slice: ResourceSlice, known: LossInformers): AdmissionAnswer {
  const { name, namespace = "" } = slice.metadata;
  const owned = known.virtualNodes.inNamespace(namespace).filter((virtualNode) => isOwnedBy(virtualNode, slice));
  const losses = lossesWithout(owned, known);
  return losses.length === 0 ? allow() : deny(`resource slice ${name} stays: ${losses.join("; ")}`);
}

export function checkSliceUpdate(old: ResourceSlice, slice: ResourceSlice, groups: readonly string[]): AdmissionAnswer {
  if (!groups.includes(Names.controlPlaneGroup)) return allow();
  const label = Labels.remoteClusterID;
  if (old.metadata.labels?.[label] !== slice.metadata.labels?.[label]) {
    return deny(`label ${label} may not be changed by the consumer`);
  }
  for (const key of [Annotations.cordon, Annotations.cordonTenant]) {
    if (old.metadata.annotations?.[key] !== slice.metadata.annotations?.[key]) {
      return deny(`annotation ${key} may not be changed by the consumer`);
    }
  }
  return allow();
}

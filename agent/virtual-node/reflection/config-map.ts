import type { ConfigMap } from "kubernetes-types/core/v1";
import { Annotations } from "../../api/index.js";
import { ConfigMapResource } from "../../runtime/index.js";
import type { ReflectedKind } from "./reflected-kind.js";
import { isReflectable, isSet } from "./reflected-metadata.js";
import { ROOT_CA, remoteRootCaName } from "./root-ca.js";

/** ConfigMaps; the one with the cluster's CA by another name, and whatever the policy (offloading specification, §8.5). */
export const configMapKind: ReflectedKind<ConfigMap, ConfigMap> = {
  name: "configmap",
  local: ConfigMapResource,
  remote: ConfigMapResource,
  fetch: true,
  replaceable: true,
  accepts: ({ metadata }, { policy }) =>
    metadata?.name === ROOT_CA
      ? !isSet(metadata.annotations?.[Annotations.skipReflection])
      : isReflectable(metadata?.annotations, policy),
  remoteName: (name, { context }) => (name === ROOT_CA ? remoteRootCaName(context.config.homeClusterId) : name),
  localName: (name, { context }) => (name === remoteRootCaName(context.config.homeClusterId) ? ROOT_CA : name),
  forge: ({ data, binaryData, immutable }) => ({
    ...(data ? { data } : {}),
    ...(binaryData ? { binaryData } : {}),
    ...(immutable === undefined ? {} : { immutable }),
  }),
};

/** The CA alone, where ConfigMaps are not reflected: pods look for it all the same. Copies of other ones stay as they are. */
export const rootCaKind: ReflectedKind<ConfigMap, ConfigMap> = {
  ...configMapKind,
  concerns: (name) => name === ROOT_CA,
};

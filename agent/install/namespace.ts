import type { ConfigMap, Namespace, ServiceAccount } from "kubernetes-types/core/v1";
import { LabelValues, Labels } from "../api/labels.js";
import { DataKeys, Names } from "../api/names.js";
import type { InstallInputs } from "./inputs.js";
import { labelsOf } from "./labels.js";
import { InstallNames } from "./names.js";

/** Gateways and the fabric change the network of nodes: pod security must allow them. */
export function namespaceManifest(inputs: InstallInputs): Namespace {
  const privileged = LabelValues.privileged;
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: inputs.namespace,
      labels: {
        ...labelsOf(inputs, "namespace"),
        [Labels.podSecurityEnforce]: privileged,
        [Labels.podSecurityAudit]: privileged,
        [Labels.podSecurityWarn]: privileged,
      },
    },
  };
}

/** Where people and tools read the cluster's ID (API specification, §10). */
export function clusterIDManifest(inputs: InstallInputs): ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: Names.clusterIDConfigMap,
      namespace: inputs.namespace,
      labels: labelsOf(inputs, "clusterid-configmap"),
    },
    data: { [DataKeys.clusterID]: inputs.clusterId },
  };
}

export function serviceAccountManifests(inputs: InstallInputs): ServiceAccount[] {
  return [
    serviceAccountManifest(inputs, InstallNames.controller, "controller-manager"),
    serviceAccountManifest(inputs, InstallNames.fabric, "fabric"),
  ];
}

export function serviceAccountManifest(inputs: InstallInputs, name: string, component: string): ServiceAccount {
  return {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name, namespace: inputs.namespace, labels: labelsOf(inputs, component) },
  };
}

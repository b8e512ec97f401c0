import type { Namespace } from "kubernetes-types/core/v1";
import type { RoleBinding } from "kubernetes-types/rbac/v1";
import type { StorageClass } from "kubernetes-types/storage/v1";
import { Labels } from "../api/labels.js";
import { Names } from "../api/names.js";
import type { KubeObject } from "../runtime/resource-type.js";
import type { InstallInputs } from "./inputs.js";
import { labelsOf } from "./labels.js";
import { InstallNames } from "./names.js";
import { AGENT_ROLES } from "./rbac/roles.js";
import { roleManifest } from "./roles.js";

const COMPONENT = "storage";

/** What claims need whose data may be in any of the clusters: a class, and a namespace for those that stay in this one. */
export function storageManifests(inputs: InstallInputs): KubeObject[] {
  if (!inputs.storageEnabled) return [];
  return [
    storageNamespace(inputs),
    storageClass(),
    roleManifest(inputs, AGENT_ROLES.storage, Names.storageNamespace),
    storageRoleBinding(inputs),
  ];
}

function storageNamespace(inputs: InstallInputs): Namespace {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: Names.storageNamespace,
      labels: { ...labelsOf(inputs, COMPONENT), [Labels.storageProvisioner]: "true" },
    },
  };
}

/** The first pod of a claim decides where its data is (offloading specification, §10). */
function storageClass(): StorageClass {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: Names.storageClass, labels: { [Labels.appName]: COMPONENT } },
    provisioner: Names.storageProvisioner,
    volumeBindingMode: "WaitForFirstConsumer",
    reclaimPolicy: "Delete",
    // Whether it really can be is the real class's matter.
    allowVolumeExpansion: true,
  };
}

function storageRoleBinding(inputs: InstallInputs): RoleBinding {
  const apiGroup = "rbac.authorization.k8s.io";
  return {
    apiVersion: `${apiGroup}/v1`,
    kind: "RoleBinding",
    metadata: {
      name: InstallNames.controller,
      namespace: Names.storageNamespace,
      labels: labelsOf(inputs, COMPONENT),
    },
    roleRef: { apiGroup, kind: "Role", name: InstallNames.controller },
    subjects: [{ kind: "ServiceAccount", name: InstallNames.controller, namespace: inputs.namespace }],
  };
}

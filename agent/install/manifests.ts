import { crds } from "../api/crd.js";
import { Labels } from "../api/labels.js";
import type { KubeObject } from "../runtime/resource-type.js";
import type { InstallInputs } from "./inputs.js";
import { labelsOf } from "./labels.js";
import { clusterIDManifest, namespaceManifest, serviceAccountManifests } from "./namespace.js";
import { networkManifests, gatewayTemplateManifests } from "./network-templates.js";
import { clusterRoleBindingManifests, clusterRoleManifests, peeringUserRoleManifest } from "./roles.js";
import { hasProxy, proxyDeployment, proxyService } from "./proxy.js";
import { liqoRuntimeClass, virtualKubeletTemplate } from "./virtual-kubelet-template.js";
import { storageManifests } from "./storage.js";
import { webhookManifests } from "./webhook-manifests.js";
import { controllerDeployment, fabricDaemonSet } from "./workloads.js";

/** Everything that an agent consists of in one cluster, in the order in which it can be applied. */
export function agentManifests(inputs: InstallInputs): KubeObject[] {
  const [service, mutating, validating] = webhookManifests({ namespace: inputs.namespace });
  const objects: KubeObject[] = [
    namespaceManifest(inputs),
    ...crds(),
    ...serviceAccountManifests(inputs),
    ...clusterRoleManifests(inputs),
    peeringUserRoleManifest(inputs),
    ...clusterRoleBindingManifests(inputs),
    clusterIDManifest(inputs),
    liqoRuntimeClass(),
    ...storageManifests(inputs),
    ...(inputs.networkingEnabled ? [...networkManifests(inputs), ...gatewayTemplateManifests(inputs)] : []),
    virtualKubeletTemplate(inputs),
    service,
    controllerDeployment(inputs),
    ...(inputs.networkingEnabled ? [fabricDaemonSet(inputs)] : []),
    ...(hasProxy(inputs) ? [proxyService(inputs), proxyDeployment(inputs)] : []),
    mutating,
    validating,
  ];
  return objects.map((object) => withCommonMetadata(object, inputs));
}

/** The installation's labels and annotations, without touching what an object says itself. */
export function withCommonMetadata(object: KubeObject, inputs: InstallInputs): KubeObject {
  const own = object.metadata?.labels ?? {};
  const name = own[Labels.appName] ?? (object.kind ?? "").toLowerCase();
  return {
    ...object,
    metadata: {
      ...object.metadata,
      labels: { ...labelsOf(inputs, name, own[Labels.appComponent] ?? name), ...own },
      ...(Object.keys(inputs.annotations).length > 0 || object.metadata?.annotations
        ? { annotations: { ...inputs.annotations, ...object.metadata?.annotations } }
        : {}),
    },
  };
}

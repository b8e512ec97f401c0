import type { Job } from "kubernetes-types/batch/v1";
import type { KubeObject } from "../runtime/resource-type.js";
import type { InstallInputs } from "./inputs.js";
import { labelsOf } from "./labels.js";
import { withCommonMetadata } from "./manifests.js";
import { serviceAccountManifest } from "./namespace.js";
import { InstallNames } from "./names.js";
import { AGENT_ROLES } from "./rbac/roles.js";
import { clusterRoleBindingManifest, clusterRoleManifest } from "./roles.js";
import { UNPRIVILEGED } from "./security-context.js";
import { notOnVirtualNodes, podBasics } from "./workloads.js";

const NAME = InstallNames.uninstallGuard;
/** Where the image has to be pulled first. */
const DEADLINE_SECONDS = 180;

/** Of hooks that belong together those of lower weight are there first: https://helm.sh/docs/topics/charts_hooks */
const RIGHTS_FIRST = "-5";

/**
 * The hooks by which Helm refuses to uninstall while peerings exist, as Pulumi's Agent does: a Job, with rights of its own as long as it runs. A Job that has refused
 * stays, for its log, until the next try.
 */
export function uninstallGuardManifests(inputs: InstallInputs): KubeObject[] {
  const rights: KubeObject[] = [
    serviceAccountManifest(inputs, NAME, AGENT_ROLES.uninstallGuard.component),
    clusterRoleManifest(inputs, AGENT_ROLES.uninstallGuard),
    clusterRoleBindingManifest(inputs, {
      name: NAME,
      role: NAME,
      account: NAME,
      short: AGENT_ROLES.uninstallGuard.label,
    }),
  ];
  return [
    ...rights.map((object) => asHook(object, RIGHTS_FIRST, "before-hook-creation,hook-succeeded,hook-failed")),
    asHook(guardJob(inputs), "0", "before-hook-creation,hook-succeeded"),
  ].map((object) => withCommonMetadata(object, inputs));
}

function asHook(object: KubeObject, weight: string, deletePolicy: string): KubeObject {
  const annotations = {
    "helm.sh/hook": "pre-delete",
    "helm.sh/hook-weight": weight,
    "helm.sh/hook-delete-policy": deletePolicy,
  };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

function guardJob(inputs: InstallInputs): Job {
  const labels = labelsOf(inputs, AGENT_ROLES.uninstallGuard.label);
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: NAME, namespace: inputs.namespace, labels },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: DEADLINE_SECONDS,
      template: {
        metadata: { labels },
        spec: {
          ...podBasics(inputs, NAME),
          restartPolicy: "Never",
          affinity: { nodeAffinity: notOnVirtualNodes() },
          containers: [
            {
              name: "uninstall-guard",
              image: inputs.image,
              imagePullPolicy: inputs.imagePullPolicy,
              args: ["uninstall-guard", `--cluster-id=${inputs.clusterId}`],
              // So that the pod's status tells the reason, too.
              terminationMessagePolicy: "FallbackToLogsOnError",
              resources: { requests: { cpu: "10m", memory: "48Mi" } },
              securityContext: { ...UNPRIVILEGED, readOnlyRootFilesystem: true },
            },
          ],
        },
      },
    },
  };
}

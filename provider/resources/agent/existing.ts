import type { Deployment } from "kubernetes-types/apps/v1";
import { Labels } from "../../../agent/api/labels.js";
import { DataKeys } from "../../../agent/api/names.js";
import { InstallNames } from "../../../agent/install/names.js";
import { ConfigMapResource, DeploymentResource } from "../../../agent/runtime/core-resources.js";
import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { CLUSTER_ID } from "../../preconditions/agent.js";

/** An agent, ours or Liqo's own, as a cluster shows it. */
export interface Installation {
  namespace: string;
  clusterId: string;
  /** Absent while there is no controller. */
  version?: string;
  /** Whether this package installed it. */
  ours: boolean;
  deployment?: Deployment;
}

/** Finds the agent by the labels that Liqo's tools look for (API specification, §10; control plane specification, §20). */
export async function findInstallation(client: KubeClient, signal: AbortSignal): Promise<Installation | undefined> {
  const [configMaps, deployments] = await Promise.all([
    client.list(ConfigMapResource, { labelSelector: CLUSTER_ID, signal }),
    client.list(DeploymentResource, {
      labelSelector: { [Labels.appName]: "controller-manager", [Labels.appComponent]: "controller-manager" },
      signal,
    }),
  ]);
  const [configMap] = configMaps.items.filter((one) => one.metadata?.deletionTimestamp === undefined);
  const namespace = configMap?.metadata?.namespace;
  if (!configMap || namespace === undefined) return undefined;
  const deployment = deployments.items.find((one) => one.metadata?.namespace === namespace);
  return {
    namespace,
    clusterId: configMap.data?.[DataKeys.clusterID] ?? "",
    version: deployment && versionOf(deployment),
    ours: configMap.metadata?.labels?.[Labels.appManagedBy] === InstallNames.manager,
    deployment,
  };
}

/** The version label, else the image's tag, as Liqo's tools read it. */
export function versionOf(deployment: Deployment): string | undefined {
  const label = deployment.metadata?.labels?.[Labels.appVersion];
  if (label) return label;
  const image = deployment.spec?.template.spec?.containers.find(({ name }) => name === "controller-manager")?.image;
  const tag = image?.split("@")[0]?.match(/:([^:/]+)$/)?.[1];
  return tag;
}

import type { Deployment } from "kubernetes-types/apps/v1";
import type { Service } from "kubernetes-types/core/v1";
import { Names, Ports } from "../api/names.js";
import type { InstallInputs } from "./inputs.js";
import { labelsOf, selectorOf } from "./labels.js";
import { UNPRIVILEGED } from "./security-context.js";
import { notOnVirtualNodes } from "./workloads.js";

/** The name that its Service is looked up by (network specification, §4). */
const PROXY = "proxy";

/** Whether the installation has the API server's proxy: without a network nobody could reach it. */
export function hasProxy({ networkingEnabled, apiServerProxy = true }: InstallInputs): boolean {
  return networkingEnabled && apiServerProxy;
}

/** What the IP resource of type `api-server-proxy` stands for. */
export function proxyService(inputs: InstallInputs): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: Names.proxy, namespace: inputs.namespace, labels: labelsOf(inputs, PROXY, "networking") },
    spec: {
      selector: selectorOf(PROXY),
      ports: [{ name: "proxy", port: Ports.apiServerProxy, targetPort: Ports.apiServerProxy, protocol: "TCP" }],
    },
  };
}

/** The proxy has no rights in the cluster, and no credentials at all: it only passes on what consumers prove themselves with. */
export function proxyDeployment(inputs: InstallInputs): Deployment {
  const labels = labelsOf(inputs, PROXY, "networking");
  const { apiServerAddress, image, imagePullPolicy, imagePullSecrets } = inputs;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: Names.proxy, namespace: inputs.namespace, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: selectorOf(PROXY) },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: { labels },
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 5,
          ...(imagePullSecrets.length > 0 ? { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) } : {}),
          affinity: { nodeAffinity: notOnVirtualNodes() },
          containers: [
            {
              name: PROXY,
              image,
              imagePullPolicy,
              args: [
                "proxy",
                `--port=${Ports.apiServerProxy}`,
                ...(apiServerAddress === "" ? [] : [`--public-address=${apiServerAddress}`]),
              ],
              ports: [{ name: "proxy", containerPort: Ports.apiServerProxy }],
              readinessProbe: { tcpSocket: { port: Ports.apiServerProxy }, periodSeconds: 1, failureThreshold: 3 },
              livenessProbe: { tcpSocket: { port: Ports.apiServerProxy }, periodSeconds: 20, failureThreshold: 3 },
              resources: { requests: { cpu: "10m", memory: "48Mi" } },
              securityContext: { ...UNPRIVILEGED, readOnlyRootFilesystem: true },
            },
          ],
        },
      },
    },
  };
}

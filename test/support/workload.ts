import type { Deployment } from "kubernetes-types/apps/v1";
import type { Pod, Service } from "kubernetes-types/core/v1";
import { DeploymentResource, PodResource, ServiceResource } from "../../agent/runtime/index.js";
import { TEST_TOOLS_IMAGE } from "../clusters/index.js";
import type { LabCluster } from "./lab.js";
import { waitFor } from "./wait.js";

export const WEB_PORT = 8080;

/** A small web service: each pod answers with its own name. It prefers the virtual node, and may run locally when that goes. */
export function webDeployment(namespace: string, replicas: number): Deployment {
  const labels = { app: "web" };
  return {
    metadata: { name: "web", namespace },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 1,
          affinity: {
            nodeAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [
                {
                  weight: 100,
                  preference: { matchExpressions: [{ key: "liqo.io/type", operator: "In", values: ["virtual-node"] }] },
                },
              ],
            },
          },
          containers: [
            {
              name: "web",
              image: TEST_TOOLS_IMAGE,
              command: [
                "/bin/sh",
                "-c",
                `mkdir -p /tmp/www && echo "served by $HOSTNAME" > /tmp/www/index.html && echo "serving on ${WEB_PORT}" && exec httpd -f -v -p ${WEB_PORT} -h /tmp/www`,
              ],
              ports: [{ containerPort: WEB_PORT, name: "http" }],
              readinessProbe: { httpGet: { path: "/index.html", port: WEB_PORT }, periodSeconds: 1 },
              resources: { requests: { cpu: "10m", memory: "16Mi" } },
            },
          ],
        },
      },
    },
  };
}

export function webService(namespace: string): Service {
  return {
    metadata: { name: "web", namespace },
    spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: WEB_PORT }] },
  };
}

/** A pod that stays on the consumer's own nodes: it asks the offloaded pods, and answers them. */
export function localPod(namespace: string, name: string): Pod {
  return {
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      terminationGracePeriodSeconds: 1,
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "liqo.io/type", operator: "NotIn", values: ["virtual-node"] }] },
            ],
          },
        },
      },
      containers: [
        {
          name: "tools",
          image: TEST_TOOLS_IMAGE,
          command: [
            "/bin/sh",
            "-c",
            `mkdir -p /tmp/www && echo "served by ${name}" > /tmp/www/index.html && exec httpd -f -p ${WEB_PORT} -h /tmp/www`,
          ],
          readinessProbe: { httpGet: { path: "/index.html", port: WEB_PORT }, periodSeconds: 1 },
        },
      ],
    },
  };
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

/** Applies the web service and a local pod, and waits until every pod is Ready. Returns the web pods. */
export async function deployWeb(
  lab: LabCluster,
  namespace: string,
  options: { replicas: number; node?: string },
): Promise<Pod[]> {
  const manager = { fieldManager: "test" };
  await lab.client.apply(ServiceResource, webService(namespace), manager);
  await lab.client.apply(DeploymentResource, webDeployment(namespace, options.replicas), manager);
  await lab.client.apply(PodResource, localPod(namespace, "client"), manager);
  const { replicas, node } = options;
  return waitForPods(lab, namespace, `${replicas} web pods and the local pod Ready`, (pods) => {
    const web = pods.filter(
      (pod) => pod.metadata?.labels?.["app"] === "web" && isReady(pod) && (!node || pod.spec?.nodeName === node),
    );
    const client = pods.find((pod) => pod.metadata?.name === "client");
    return web.length === replicas && client && isReady(client) ? web : undefined;
  });
}

/** Waits on the pods of a namespace, and tells how each stood when the deadline (120 s by default) passes. */
export function waitForPods<R>(
  lab: LabCluster,
  namespace: string,
  what: string,
  predicate: (pods: Pod[]) => R | undefined | false,
  timeoutMs = 120_000,
): Promise<R> {
  return waitFor(lab.client, PodResource, { namespace, timeoutMs, what, describe: describePods }, predicate);
}

function describePods(pods: Pod[]): string {
  return pods
    .map((pod) => {
      const { phase, reason, containerStatuses } = pod.status ?? {};
      const waiting = containerStatuses?.map(({ state }) => state?.waiting?.reason ?? "").join("");
      return `${pod.metadata?.name} on ${pod.spec?.nodeName ?? "no node"}: ${[phase, reason, waiting].filter(Boolean).join(" ")}`;
    })
    .join("; ");
}

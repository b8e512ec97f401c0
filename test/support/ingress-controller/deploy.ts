import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { DeploymentSpec } from "kubernetes-types/apps/v1";
import type { PolicyRule } from "kubernetes-types/rbac/v1";
import { agentImageRef } from "../../../agent/image/build.js";
import {
  ClusterRoleBindingResource,
  ClusterRoleResource,
  ConfigMapResource,
  DeploymentResource,
  IngressClassResource,
  NamespaceResource,
  ServiceAccountResource,
  ServiceResource,
  type DeepPartial,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { slimKubernetesClient } from "../../../scripts/slim-kubernetes-client.js";
import type { LabCluster } from "../lab.js";
import { waitFor } from "../wait.js";

const NAME = "ingress-controller";
const PROGRAM = "controller.cjs";
const PORT = 8080;
const MANAGER = { fieldManager: "test" };

const RULES: PolicyRule[] = [
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses"], verbs: ["get", "list", "watch"] },
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["services"], verbs: ["get", "list", "watch"] },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["get", "list", "watch"] },
];

export interface IngressControllerOptions {
  /** Of the Ingresses that it serves. */
  ingressClass: string;
  /** Whether Ingresses that name no class get this one. */
  isDefault?: boolean;
  /** Of the Service that leads to it; the cluster's default if absent. */
  loadBalancerClass?: string;
}

/** Gives a cluster an ingress controller (see main.ts): a pod in a namespace of its own, behind a load balancer. Waits until it serves. */
export async function deployIngressController(lab: LabCluster, options: IngressControllerOptions): Promise<void> {
  const { ingressClass, isDefault = false, loadBalancerClass } = options;
  const metadata = { name: NAME, namespace: NAME };
  const apply = <T extends KubeObject>(type: ResourceType<T>, object: DeepPartial<T>): Promise<T> =>
    lab.client.apply(type, object, MANAGER);
  await apply(NamespaceResource, { metadata: { name: NAME } });
  const annotations: Record<string, string> = isDefault
    ? { "ingressclass.kubernetes.io/is-default-class": "true" }
    : {};
  const spec = { controller: "test.example/ingress" };
  await apply(IngressClassResource, { metadata: { name: ingressClass, annotations }, spec });
  await apply(ServiceAccountResource, { metadata });
  await apply(ClusterRoleResource, { metadata: { name: NAME }, rules: RULES });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: NAME };
  const subjects = [{ kind: "ServiceAccount", name: NAME, namespace: NAME }];
  await apply(ClusterRoleBindingResource, { metadata: { name: NAME }, roleRef, subjects });
  await apply(ConfigMapResource, { metadata, data: { [PROGRAM]: await bundle() } });
  const ports = [{ name: "http", port: 80, targetPort: PORT }];
  const door = {
    type: "LoadBalancer",
    selector: { app: NAME },
    ports,
    ...(loadBalancerClass ? { loadBalancerClass } : {}),
  };
  await apply(ServiceResource, { metadata, spec: door });
  await apply(DeploymentResource, { metadata, spec: deploymentSpec(ingressClass) });
  const ready = { namespace: NAME, timeoutMs: 120_000, what: "the ingress controller ready" };
  await waitFor(lab.client, DeploymentResource, ready, ([{ status } = {}]) => status?.readyReplicas === 1);
}

/** One file with all that it needs; the agent's image has Node.js. */
async function bundle(): Promise<string> {
  const entry = fileURLToPath(new URL("main.ts", import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    platform: "node",
    format: "cjs",
    minify: true,
    plugins: [slimKubernetesClient],
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

function deploymentSpec(ingressClass: string): DeploymentSpec {
  const labels = { app: NAME };
  const container = {
    name: "controller",
    image: agentImageRef(),
    command: ["node", `/program/${PROGRAM}`, ingressClass, `${NAME}/${NAME}`, String(PORT)],
    ports: [{ name: "http", containerPort: PORT }],
    readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
    resources: { requests: { cpu: "10m", memory: "32Mi" } },
    volumeMounts: [{ name: "program", mountPath: "/program" }],
  };
  const pod = {
    serviceAccountName: NAME,
    terminationGracePeriodSeconds: 0,
    containers: [container],
    volumes: [{ name: "program", configMap: { name: NAME } }],
  };
  return { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } };
}

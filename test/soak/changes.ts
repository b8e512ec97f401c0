import type { Deployment, StatefulSet } from "kubernetes-types/apps/v1";
import type { Job } from "kubernetes-types/batch/v1";
import type { PersistentVolumeClaim, PodTemplateSpec } from "kubernetes-types/core/v1";
import {
  ConfigMapResource,
  DeploymentResource,
  EndpointSliceResource,
  IngressResource,
  PersistentVolumeClaimResource,
  PodResource,
  SecretResource,
  ServiceResource,
  type KubeClient,
  type ResourceType,
} from "../../agent/runtime/index.js";
import { TEST_TOOLS_IMAGE } from "../clusters/index.js";
import type { Random } from "./random.js";

export const StatefulSetResource: ResourceType<StatefulSet> = {
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
};
export const JobResource: ResourceType<Job> = {
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  namespaced: true,
};

/** Something that a user does; resolves to what was done. */
export type Change = (client: KubeClient, namespace: string, random: Random) => Promise<string>;

const MANAGER = { fieldManager: "soak" };
/** Few names, so that objects are changed and deleted as often as created. */
const NAMES = ["red", "green", "blue"];
const SETTINGS = "settings";
/** Of the consumer's pod range, but of no node. */
const UNUSED_PODS = "10.200.250";

const replicated: Change = async (client, namespace, random) => {
  const name = random.pick(NAMES);
  const replicas = random.integer(0, 2);
  const spec = { replicas, ...selected(`web-${name}`, random.pick(["one", "two"])) };
  await client.apply(DeploymentResource, { metadata: { name: `web-${name}`, namespace }, spec }, MANAGER);
  return `deployment web-${name}, ${replicas} replicas, ${spec.template.metadata?.annotations?.["version"]}`;
};

const stateful: Change = async (client, namespace, random) => {
  const name = `queue-${random.pick(NAMES)}`;
  const replicas = random.integer(0, 2);
  const spec = { replicas, serviceName: name, ...selected(name, random.pick(["one", "two"])) };
  await client.apply(StatefulSetResource, { metadata: { name, namespace }, spec }, MANAGER);
  return `statefulset ${name}, ${replicas} replicas`;
};

/** With a volume for each pod, which goes with the set, and stays while there are fewer pods. */
const stored: Change = async (client, namespace, random) => {
  const name = `store-${random.pick(NAMES)}`;
  const replicas = random.integer(0, 2);
  const { selector, template } = selected(name, random.pick(["one", "two"]));
  for (const container of template.spec?.containers ?? [])
    container.volumeMounts = [{ name: "data", mountPath: "/data" }];
  const spec = {
    ...{ replicas, serviceName: name, selector, template, volumeClaimTemplates: [dataClaim()] },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
  };
  await client.apply(StatefulSetResource, { metadata: { name, namespace }, spec }, MANAGER);
  return `statefulset ${name} with volumes, ${replicas} replicas`;
};

const job: Change = async (client, namespace, random) => {
  const name = `job-${random.pick(NAMES)}`;
  if (await client.get(JobResource, { name, namespace })) {
    await client.delete(JobResource, { name, namespace }, { propagationPolicy: "Background" });
    return `job ${name} deleted`;
  }
  const template = podTemplate({ app: name }, "one");
  const [container] = template.spec?.containers ?? [];
  const containers = [{ ...container!, command: ["/bin/sh", "-c", "sleep 1"] }];
  const spec = {
    backoffLimit: 20,
    template: { ...template, spec: { ...template.spec, restartPolicy: "Never", containers } },
  };
  await client.create(JobResource, { metadata: { name, namespace }, spec });
  return `job ${name}`;
};

const configMap: Change = async (client, namespace, random) => {
  const name = `config-${random.pick(NAMES)}`;
  const isReflected = random.next() > 0.2;
  const annotations = isReflected ? {} : { "liqo.io/skip-reflection": "true" };
  const data = { value: String(random.integer(0, 1_000_000)) };
  await client.apply(ConfigMapResource, { metadata: { name, namespace, annotations }, data }, MANAGER);
  return `configmap ${name} = ${data.value}${isReflected ? "" : ", not reflected"}`;
};

const secret: Change = async (client, namespace, random) => {
  const name = `secret-${random.pick(NAMES)}`;
  const data = { value: Buffer.from(String(random.integer(0, 1_000_000))).toString("base64") };
  await client.apply(SecretResource, { metadata: { name, namespace }, data }, MANAGER);
  return `secret ${name}`;
};

const service: Change = async (client, namespace, random) => {
  const name = `web-${random.pick(NAMES)}`;
  const spec = { selector: { app: name }, ports: [{ name: "http", port: random.integer(80, 90), targetPort: 8080 }] };
  await client.apply(ServiceResource, { metadata: { name, namespace }, spec }, MANAGER);
  return `service ${name}, port ${spec.ports[0]?.port}`;
};

const ingress: Change = async (client, namespace, random) => {
  const name = `door-${random.pick(NAMES)}`;
  const service = { name: `web-${random.pick(NAMES)}`, port: { number: random.integer(80, 90) } };
  const host = `${random.pick(NAMES)}.example`;
  const paths = [{ path: "/", pathType: "Prefix", backend: { service } }];
  const spec = { rules: [{ host, http: { paths } }] };
  await client.apply(IngressResource, { metadata: { name, namespace }, spec }, MANAGER);
  return `ingress ${name}: ${host} to ${service.name}, port ${service.port.number}`;
};

/** Where a Service without a selector leads: to addresses of the consumer's pods, which the provider calls by others. */
const endpoints: Change = async (client, namespace, random) => {
  const name = `beyond-${random.pick(NAMES)}`;
  const port = random.integer(8080, 8090);
  const addresses = [...new Set(Array.from({ length: random.integer(0, 3) }, () => random.integer(1, 250)))];
  const slice = {
    metadata: { name, namespace, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: addresses.map((last) => ({
      addresses: [`${UNUSED_PODS}.${last}`],
      conditions: { ready: random.next() > 0.3 },
    })),
    ports: [{ name: "http", port }],
  };
  const spec = { ports: [{ name: "http", port: 80, targetPort: port }] };
  await client.apply(ServiceResource, { metadata: { name, namespace }, spec }, MANAGER);
  await client.apply(EndpointSliceResource, slice, MANAGER);
  return `endpoints ${name}: ${addresses.length}, port ${port}`;
};

const deletion: Change = async (client, namespace, random) => {
  const [type, name] = random.pick(deletable(random.pick(NAMES)));
  const deleted = await client.delete(type, { name, namespace }, { propagationPolicy: "Background" });
  return `${type.kind} ${name} ${deleted ? "deleted" : "was not there"}`;
};

const podDeletion: Change = async (client, namespace, random) => {
  const { items } = await client.list(PodResource, { namespace, labelSelector: "soak=changing" });
  if (items.length === 0) return "no pod to delete";
  const name = random.pick(items.map(({ metadata }) => metadata?.name ?? "").sort());
  const isForced = random.next() < 0.3;
  await client.delete(PodResource, { name, namespace }, isForced ? { gracePeriodSeconds: 0 } : {});
  return `pod ${name} deleted${isForced ? " by force" : ""}`;
};

/** It goes with its pod, if there is one, and its successor is empty. */
const claimDeletion: Change = async (client, namespace, random) => {
  const { items } = await client.list(PersistentVolumeClaimResource, { namespace });
  if (items.length === 0) return "no claim to delete";
  const name = random.pick(items.map(({ metadata }) => metadata?.name ?? "").sort());
  await client.delete(PersistentVolumeClaimResource, { name, namespace });
  return `claim ${name} deleted`;
};

/** In the proportions in which they are chosen. */
export const CHANGES: readonly Change[] = [
  ...[replicated, replicated, stateful, stateful, job, configMap, configMap],
  ...[secret, service, deletion, deletion, podDeletion, podDeletion],
  ...[stored, stored, claimDeletion, ingress, endpoints, deletion],
];

function deletable(name: string): [ResourceType, string][] {
  return [
    [DeploymentResource, `web-${name}`],
    [StatefulSetResource, `queue-${name}`],
    [JobResource, `job-${name}`],
    [ConfigMapResource, `config-${name}`],
    [SecretResource, `secret-${name}`],
    [ServiceResource, `web-${name}`],
    [StatefulSetResource, `store-${name}`],
    [IngressResource, `door-${name}`],
    [ServiceResource, `beyond-${name}`],
    [EndpointSliceResource, `beyond-${name}`],
  ];
}

/** What nobody touches during a soak: its pods must be the same ones at the end. */
export async function deploySteady(client: KubeClient, namespace: string): Promise<void> {
  const data = { value: "0" };
  await client.apply(ConfigMapResource, { metadata: { name: SETTINGS, namespace }, data }, MANAGER);
  const deployment: Deployment["spec"] = { replicas: 1, ...selected("steady-web", "one", "steady") };
  await client.apply(DeploymentResource, { metadata: { name: "steady-web", namespace }, spec: deployment }, MANAGER);
  const spec = { replicas: 2, serviceName: "steady-queue", ...selected("steady-queue", "one", "steady") };
  await client.apply(StatefulSetResource, { metadata: { name: "steady-queue", namespace }, spec }, MANAGER);
}

function selected(
  app: string,
  version: string,
  soak = "changing",
): { selector: { matchLabels: Record<string, string> }; template: PodTemplateSpec } {
  const labels = { app };
  return { selector: { matchLabels: labels }, template: podTemplate({ ...labels, soak }, version) };
}

function dataClaim(): PersistentVolumeClaim {
  return {
    metadata: { name: "data" },
    spec: {
      storageClassName: "liqo",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Mi" } },
    },
  };
}

function podTemplate(labels: Record<string, string>, version: string): PodTemplateSpec {
  return {
    metadata: { labels: { soak: "changing", ...labels }, annotations: { version } },
    spec: {
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      containers: [
        {
          name: "main",
          image: TEST_TOOLS_IMAGE,
          command: ["/bin/sleep", "1000000"],
          resources: { requests: { cpu: "1m", memory: "4Mi" } },
        },
      ],
    },
  };
}

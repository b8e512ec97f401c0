import { parseArgs } from "node:util";
import {
  REFLECTABLE_GROUP_MESSAGE,
  customResourceName,
  parseCustomResource,
  type CustomResourceName,
} from "../api/custom-resource.js";
import { Ports } from "../api/names.js";
import type { ReflectionPolicy } from "./reflection/reflected-metadata.js";

/** How one kind is reflected; no workers: not at all. */
export interface ReflectionSettings {
  workers: number;
  policy: ReflectionPolicy;
  /** Which objects are reflected at all, as `kubectl -l` writes it; absent: all. Of slices: which of their Services are. */
  selector?: string;
}

/** How one virtual node's process is set up; all else is read live from its VirtualNode object. */
export interface VirtualNodeConfig {
  /** The provider. */
  foreignClusterId: string;
  /** The consumer, whose Node this is. */
  homeClusterId: string;
  nodeName: string;
  /** Where the API server reaches the kubelet API: this pod's address. */
  nodeIp: string;
  tenantNamespace: string;
  liqoNamespace: string;
  /** In the tenant namespace; key `kubeconfig`. */
  kubeconfigSecretName: string;
  /** Until the VirtualNode says otherwise. */
  createNode: boolean;
  checkNetwork: boolean;
  localPodCidrs: string[];
  /** Whether offloaded pods get tokens of this cluster and a way to its API server. */
  apiServerSupport: boolean;
  /** Reflected beside the kinds that always are. */
  customResources: CustomResourceName[];
  /** By reflected kind, where it differs from the default; custom resources by names such as "widgets.example.com". */
  reflection: Record<string, ReflectionSettings>;
  /** Keys that stay here, of whatever is reflected; the VirtualNode may name more. */
  labelsNotReflected: string[];
  annotationsNotReflected: string[];
  /** Of the Node, beneath those that the VirtualNode names. */
  nodeExtraLabels: Record<string, string>;
  nodeExtraAnnotations: Record<string, string>;
  /** Where metrics are served, "host:port" or ":port"; absent: nowhere. */
  metricsAddress?: string;
  podName: string;
  podNamespace: string;
  virtualNodeName: string;
  kubeletPort: number;
  healthPort: number;
  /** As pods of this cluster see the API server's Service. */
  apiServerPort: number;
}

const TEXT = { type: "string" as const };
const KNOWN = [
  "foreign-cluster-id",
  "home-cluster-id",
  "nodename",
  "node-ip",
  "tenant-namespace",
  "liqo-namespace",
  "foreign-kubeconfig-secret-name",
  "create-node",
  "node-check-network",
  "enable-apiserver-support",
  "kubelet-port",
  "health-port",
  "metrics-address",
];
/** Arguments that may be given several times. */
const LISTS = [
  "local-podcidr",
  "label-not-reflected",
  "annotation-not-reflected",
  "node-extra-labels",
  "node-extra-annotations",
];
const CUSTOM_RESOURCES = "reflect-resource";
/** Kinds whose reflection may be configured. */
const REFLECTED = ["service", "endpointslice", "ingress", "configmap", "secret", "event"];
/** Those of which a part may be chosen by labels. */
const SELECTABLE = ["service", "ingress", "configmap", "secret"];
/** CustomLiqo is what kinds without a choice are given. */
const REFLECTION_TYPES = ["DenyList", "AllowList", "CustomLiqo"];
const DEFAULT_WORKERS = 3;

/**
 * Reads the command line and environment (offloading specification, §2.4). Arguments that this version does not know
 * are left aside: an options template may carry some meant for another.
 *
 * @throws Error naming every argument that is missing or not valid
 */
export function parseVirtualNodeArguments(argv: string[], env: NodeJS.ProcessEnv = process.env): VirtualNodeConfig {
  const custom = customResourcesOf(argv);
  const reflected = [...REFLECTED, ...custom.resources.map(customResourceName)];
  const { values } = parseArgs({
    args: argv,
    strict: false,
    allowPositionals: true,
    options: {
      ...Object.fromEntries([...KNOWN, ...reflected.flatMap(reflectionArguments)].map((name) => [name, TEXT])),
      // Also without a value, as Liqo's options write it.
      "metrics-enabled": { type: "boolean" },
      ...Object.fromEntries(LISTS.map((name) => [name, { ...TEXT, multiple: true }])),
    },
  });
  const problems: string[] = [...custom.problems];
  const text = (name: string): string => {
    const value = values[name];
    return typeof value === "string" ? value : "";
  };
  const required = (value: string, what: string): string => {
    if (value === "") problems.push(`${what} is missing`);
    return value;
  };
  const flag = (name: string, otherwise: boolean): boolean => {
    const value = values[name];
    if (value === undefined) return otherwise;
    if (value === true || value === "true" || value === "false") return value !== "false";
    problems.push(`--${name}: ${JSON.stringify(value)} is neither true nor false`);
    return otherwise;
  };
  const port = (name: string, otherwise: number): number => {
    const number = text(name) === "" ? otherwise : Number(text(name));
    if (!Number.isInteger(number) || number < 0 || number > 65_535) problems.push(`--${name}: not a port number`);
    return number;
  };
  const settings = (kind: string): ReflectionSettings => {
    const [workersName = "", typeName = "", selectorName = ""] = reflectionArguments(kind);
    const workers = text(workersName) === "" ? DEFAULT_WORKERS : Number(text(workersName));
    if (!Number.isInteger(workers) || workers < 0) problems.push(`--${workersName}: not a number of workers`);
    // Slices follow their Services.
    const type = text(typeName) || (kind === "endpointslice" ? text("service-reflection-type") : "") || "DenyList";
    if (!REFLECTION_TYPES.includes(type)) problems.push(`--${typeName}: not one of ${REFLECTION_TYPES.join(", ")}`);
    if (text(selectorName) !== "" && REFLECTED.includes(kind) && !SELECTABLE.includes(kind))
      problems.push(`--${selectorName}: a selector is for ${SELECTABLE.join(", ")} only`);
    const selector = text(kind === "endpointslice" ? "service-reflection-selector" : selectorName);
    return { workers, policy: type === "AllowList" ? "AllowList" : "DenyList", ...(selector ? { selector } : {}) };
  };
  const map = (name: string): Record<string, string> => {
    const entries = textsOf(values[name]).map((entry): [string, string] => {
      const equals = entry.indexOf("=");
      if (equals <= 0) problems.push(`--${name}: ${JSON.stringify(entry)} is not of the form key=value`);
      return [entry.slice(0, equals), entry.slice(equals + 1)];
    });
    return Object.fromEntries(entries);
  };
  const podNamespace = env["POD_NAMESPACE"] ?? text("tenant-namespace");
  const nodeName = required(text("nodename"), "--nodename");
  const config: VirtualNodeConfig = {
    foreignClusterId: required(text("foreign-cluster-id"), "--foreign-cluster-id"),
    homeClusterId: required(text("home-cluster-id"), "--home-cluster-id"),
    nodeName,
    nodeIp: required(text("node-ip") || (env["POD_IP"] ?? ""), "--node-ip (or POD_IP)"),
    tenantNamespace: required(text("tenant-namespace"), "--tenant-namespace"),
    liqoNamespace: text("liqo-namespace") || "liqo",
    kubeconfigSecretName: required(text("foreign-kubeconfig-secret-name"), "--foreign-kubeconfig-secret-name"),
    createNode: flag("create-node", true),
    checkNetwork: flag("node-check-network", true),
    localPodCidrs: listOf(values["local-podcidr"]),
    apiServerSupport: flag("enable-apiserver-support", true),
    customResources: custom.resources,
    reflection: Object.fromEntries(reflected.map((kind) => [kind, settings(kind)])),
    labelsNotReflected: listOf(values["label-not-reflected"]),
    annotationsNotReflected: listOf(values["annotation-not-reflected"]),
    nodeExtraLabels: map("node-extra-labels"),
    nodeExtraAnnotations: map("node-extra-annotations"),
    ...(flag("metrics-enabled", false)
      ? { metricsAddress: text("metrics-address") || `:${Ports.virtualKubeletMetrics}` }
      : {}),
    podName: env["POD_NAME"] ?? `local-${process.pid}`,
    podNamespace,
    virtualNodeName: env["VIRTUALNODE_NAME"] ?? nodeName,
    kubeletPort: port("kubelet-port", Ports.kubelet),
    healthPort: port("health-port", Ports.health),
    apiServerPort: Number(env["KUBERNETES_SERVICE_PORT"] ?? 443),
  };
  if (problems.length > 0) throw new Error(problems.join("; "));
  return config;
}

/** Read first: each has further arguments of its own. */
function customResourcesOf(argv: string[]): { resources: CustomResourceName[]; problems: string[] } {
  const { values } = parseArgs({
    args: argv,
    strict: false,
    allowPositionals: true,
    options: { [CUSTOM_RESOURCES]: { ...TEXT, multiple: true } },
  });
  const resources = new Map<string, CustomResourceName>();
  const problems: string[] = [];
  for (const written of textsOf(values[CUSTOM_RESOURCES])) {
    const resource = parseCustomResource(written);
    if (resource) resources.set(customResourceName(resource), resource);
    else
      problems.push(
        `--${CUSTOM_RESOURCES}: ${JSON.stringify(written)} is not of the form PLURAL.VERSION.GROUP/KIND, or its group ${REFLECTABLE_GROUP_MESSAGE}`,
      );
  }
  return { resources: [...resources.values()], problems };
}

function reflectionArguments(kind: string): string[] {
  return [`${kind}-reflection-workers`, `${kind}-reflection-type`, `${kind}-reflection-selector`];
}

function textsOf(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [];
  return list.filter((item): item is string => typeof item === "string");
}

function listOf(value: unknown): string[] {
  return textsOf(value)
    .flatMap((item) => item.split(","))
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

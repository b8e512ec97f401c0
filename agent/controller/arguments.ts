import { parseArgs } from "node:util";
import { Ports } from "../api/names.js";
import type { ControllerConfig } from "./context.js";

const LIMITS = ["Hard", "Soft", "None"] as const;
const PULL_POLICIES = ["Always", "IfNotPresent", "Never"] as const;

/** Reads the controller's command line. Throws an Error that names the argument when a value is not valid. */
export function parseControllerArguments(argv: string[], env: NodeJS.ProcessEnv = process.env): ControllerConfig {
  const text = (value: string) => ({ type: "string" as const, default: value });
  const { values } = parseArgs({
    args: argv,
    options: {
      "cluster-id": text(""),
      "liqo-namespace": text(env["POD_NAMESPACE"] ?? "liqo"),
      "cluster-labels": text(""),
      image: text(env["AGENT_IMAGE"] ?? ""),
      "image-pull-policy": text("IfNotPresent"),
      "image-pull-secrets": text(""),
      "api-server-address": text(""),
      "api-server-ca": text(""),
      "trusted-ca": text("false"),
      "tls-compatibility-mode": text("false"),
      "networking-enabled": text("true"),
      "default-resource-slice-class-enabled": text("true"),
      "enable-resource-enforcement": text("true"),
      "default-limits-enforcement": text("None"),
      "default-node-resources": text("cpu=4,memory=8Gi,pods=110,ephemeral-storage=20Gi"),
      "enable-storage": text("true"),
      "real-storage-class-name": text(""),
      "ingress-classes": text(""),
      "load-balancer-classes": text(""),
      "foreign-cluster-ping-interval": text("15"),
      "foreign-cluster-ping-timeout": text("5"),
      "ipam-pools": text("10.0.0.0/8,192.168.0.0/16,172.16.0.0/12"),
      "webhook-port": text(String(Ports.webhook)),
      "health-port": text(String(Ports.health)),
    },
  });
  if (!values["cluster-id"]) throw new Error("--cluster-id is required");
  return {
    clusterId: values["cluster-id"],
    namespace: values["liqo-namespace"],
    clusterLabels: pairs("cluster-labels", values["cluster-labels"]),
    image: values.image,
    imagePullPolicy: oneOf("image-pull-policy", values["image-pull-policy"], PULL_POLICIES),
    imagePullSecrets: words(values["image-pull-secrets"]),
    podName: env["POD_NAME"] ?? `local-${process.pid}`,
    apiServerAddress: values["api-server-address"],
    apiServerCA: values["api-server-ca"],
    trustedCA: values["trusted-ca"] === "true",
    tlsCompatibilityMode: values["tls-compatibility-mode"] === "true",
    networkingEnabled: values["networking-enabled"] === "true",
    defaultSliceClassEnabled: values["default-resource-slice-class-enabled"] === "true",
    resourceEnforcement: values["enable-resource-enforcement"] === "true",
    defaultLimitsEnforcement: oneOf("default-limits-enforcement", values["default-limits-enforcement"], LIMITS),
    defaultSliceResources: pairs("default-node-resources", values["default-node-resources"]),
    storageEnabled: values["enable-storage"] === "true",
    realStorageClass: values["real-storage-class-name"],
    ingressClasses: words(values["ingress-classes"]),
    loadBalancerClasses: words(values["load-balancer-classes"]),
    pingIntervalSeconds: seconds("foreign-cluster-ping-interval", values["foreign-cluster-ping-interval"]),
    pingTimeoutSeconds: seconds("foreign-cluster-ping-timeout", values["foreign-cluster-ping-timeout"]),
    ipamPools: words(values["ipam-pools"]),
    webhookPort: port("webhook-port", values["webhook-port"]),
    healthPort: port("health-port", values["health-port"]),
  };
}

function words(value: string): string[] {
  return value
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

function pairs(name: string, value: string): Record<string, string> {
  return Object.fromEntries(
    words(value).map((word) => {
      const separator = word.indexOf("=");
      if (separator <= 0) throw new Error(`--${name}: "${word}" is not of the form key=value`);
      return [word.slice(0, separator), word.slice(separator + 1)];
    }),
  );
}

function oneOf<T extends string>(name: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new Error(`--${name}: "${value}" is not one of ${allowed.join(", ")}`);
  return found;
}

function seconds(name: string, value: string): number {
  const number = Number(value.replace(/s$/, ""));
  if (!Number.isFinite(number) || number < 0) throw new Error(`--${name}: "${value}" is not a number of seconds`);
  return number;
}

function port(name: string, value: string): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 1 || number > 65535)
    throw new Error(`--${name}: "${value}" is not a port number`);
  return number;
}

import { readFileSync } from "node:fs";
import path from "node:path";
import { tenantNamespaceName } from "../../agent/api/index.js";
import { REPOSITORY } from "../languages/toolchain.js";

/**
 * The manifests that Liqo's document on declarative peering has people copy, in its order. The files are as it prints them to the last blank,
 * and the only place here where they are written: a test takes them from here, and no formatter may tidy them up.
 */
export const MANIFESTS = [
  "tenant-namespace",
  "tenant-namespace-example-consumer",
  "tenant-namespace-example-provider",
  "configuration",
  "key-secret",
  "public-key",
  "key-secret-example",
  "public-key-example",
  "gateway-server",
  "gateway-client",
  "role-binding",
  "tenant",
  "identity-secret",
  "resource-slice",
  "namespace-offloading",
] as const;
export type Manifest = (typeof MANIFESTS)[number];

/** Below the repository. */
export const MANIFEST_FOLDER = "test/support/declarative";

/** What the examples call the two clusters, the keys that they give the provider, and the consumer's, of which no one has the private part. */
export const EXAMPLE = {
  consumer: "consumer",
  provider: "provider",
  providerKeys: {
    privateKey: "IIDYUpVU5r/R3pxp7xnpEU31Ky2+Th7pSWQWyEKKVG8=",
    publicKey: "SU+Ba3jBNgofBrZtVHwad1VJotcVs4TmgpOdFQhx/UE=",
  },
  consumerPublicKey: "ahPstVhybRiIyxSPhZgfWkc5vMUaJTFHaCcTr2KEW2A=",
} as const;

const PLACEHOLDER = /<[^<>\s]+>/g;
/** Placeholders, and keys of WireGuard. */
const SUBSTITUTED = new RegExp(`${PLACEHOLDER.source}|[A-Za-z0-9+/]{43}=`, "g");

/** What takes the place of which piece of a manifest: of a placeholder, or of the one value of an example that nobody can use. */
export type Substitutions = Readonly<Record<string, string>>;

/** A cluster, by what a person looks up in it and makes for it. */
export interface Described {
  id: string;
  /** Plain, or as a list in YAML's brackets. */
  podCIDR: string;
  externalCIDR: string;
  keys: { privateKey: string; publicKey: string };
  /** Where the other's gateway finds it. */
  address: string;
}

/** Names that the document leaves to its reader. */
const RESOURCE_NAMES: Partial<Record<Manifest, (remoteID: string) => string>> = {
  configuration: (remoteID) => `to-${remoteID}`,
  "key-secret": () => "gw-keys",
  "public-key": () => "gw-publickey",
};

export function manifestText(manifest: Manifest): string {
  return readFileSync(path.join(REPOSITORY, MANIFEST_FOLDER, `${manifest}.yaml`), "utf8");
}

/** The placeholders of a text, each once, in its order. */
export function placeholdersIn(text: string): string[] {
  return [...new Set(text.match(PLACEHOLDER))];
}

/**
 * What stands for what in the networking manifests of one cluster. Server and client may be swapped: whichever role its gateway has, a cluster's
 * manifests name the other cluster, and the tenant namespace that it has for that.
 */
export function networkSubstitutions(manifest: Manifest, own: Described, remote: Described): Substitutions {
  const namespace = tenantNamespaceName(remote.id);
  return {
    "<REMOTE_CLUSTER_ID>": remote.id,
    "<CONSUMER_CLUSTER_ID>": remote.id,
    "<PROVIDER_CLUSTER_ID>": remote.id,
    "<LOCAL_TENANT_NAMESPACE>": namespace,
    "<PROVIDER_TENANT_NAMESPACE>": namespace,
    "<CONSUMER_TENANT_NAMESPACE>": namespace,
    "<RESOURCE_NAME>": RESOURCE_NAMES[manifest]?.(remote.id) ?? "",
    "<EXTERNAL_CIDR_REMOTE_CLUSTER>": remote.externalCIDR,
    "<POD_CIDR_REMOTE_CLUSTER>": remote.podCIDR,
    "<WIREGUARD_PRIVATE_KEY>": own.keys.privateKey,
    "<WIREGUARD_PUBLIC_KEY>": own.keys.publicKey,
    "<REMOTE_WIREGUARD_PUBLIC_KEY>": remote.keys.publicKey,
    [EXAMPLE.consumerPublicKey]: remote.keys.publicKey,
    "<WIREGUARD_KEYS_SECRET_NAME>": "gw-keys",
    "<REMOTE_IP>": remote.address,
  };
}

/** What stands for what in the manifests of authentication and offloading, whose roles are the clusters' own. */
export function offloadingSubstitutions(peering: {
  consumer: string;
  provider: string;
  userName: string;
  kubeconfig: string;
  virtualNode: string;
  namespace: string;
}): Substitutions {
  const { consumer, provider } = peering;
  return {
    "<CONSUMER_CLUSTER_ID>": consumer,
    "<PROVIDER_CLUSTER_ID>": provider,
    "<CONSUMER_TENANT_NAMESPACE>": tenantNamespaceName(provider),
    "<PROVIDER_TENANT_NAMESPACE>": tenantNamespaceName(consumer),
    "<USER_COMMON_NAME>": peering.userName,
    "<BASE64_KUBECONFIG_USER>": Buffer.from(peering.kubeconfig).toString("base64"),
    "<VIRTUAL_NODE_NAME>": peering.virtualNode,
    "<NAMESPACE_NAME_TO_OFFLOAD>": peering.namespace,
  };
}

/**
 * A manifest as it is applied: nothing but what is substituted differs from the document.
 *
 * @throws Error naming a placeholder for which there is nothing
 */
export function fillIn(manifest: Manifest, substitutions: Substitutions): string {
  // In one go: what has been filled in is not looked at again.
  const text = manifestText(manifest).replace(SUBSTITUTED, (piece) => substitutions[piece] || piece);
  const [left] = placeholdersIn(text);
  if (left) throw new Error(`${MANIFEST_FOLDER}/${manifest}.yaml: nothing to put in place of ${left}`);
  return text;
}

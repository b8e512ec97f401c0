import {
  EXAMPLE,
  fillIn,
  networkSubstitutions,
  offloadingSubstitutions,
  type Described,
  type Manifest,
} from "./declarative-manifests.js";

export type Role = "consumer" | "provider";

/** Two clusters, and what a person has chosen for their peering. */
export const WRITTEN = {
  consumer: {
    id: EXAMPLE.consumer,
    podCIDR: "10.42.0.0/16",
    externalCIDR: "10.70.0.0/16",
    keys: {
      privateKey: "eKRNtOetEMoFg5lteV5rfDrNfjT4/TS8w9viRRXKaEo=",
      publicKey: "81OcI1Rg7WRS8hiPXCHQHYHHmEdW7/h4haIXKQ+Zrx0=",
    },
    address: "172.18.0.4",
  },
  provider: {
    id: EXAMPLE.provider,
    podCIDR: "10.43.0.0/16",
    externalCIDR: "10.71.0.0/16",
    keys: EXAMPLE.providerKeys,
    address: "172.18.0.5",
  },
  userName: "the-consumer",
  kubeconfig: "apiVersion: v1\n",
  virtualNode: "mynode",
  namespace: "demo",
} as const;

/** What is written for each cluster where the provider has the server. */
const MANIFESTS_OF: Record<Role, readonly Manifest[]> = {
  consumer: [
    "tenant-namespace",
    "configuration",
    "key-secret",
    "public-key",
    "gateway-client",
    "identity-secret",
    "resource-slice",
    "namespace-offloading",
  ],
  provider: [
    "tenant-namespace",
    "configuration",
    "key-secret",
    "public-key",
    "gateway-server",
    "role-binding",
    "tenant",
  ],
};

/** All manifests that a person writes for one cluster of the peering. `change` says how the document's reader has seen the clusters. */
export function writtenPeering(role: Role, change: (cluster: Described) => Described = (cluster) => cluster): string {
  const [own, remote] = [role, role === "consumer" ? "provider" : "consumer"].map((one) =>
    change(WRITTEN[one as Role]),
  );
  const offloading = offloadingSubstitutions({ ...WRITTEN, consumer: EXAMPLE.consumer, provider: EXAMPLE.provider });
  return MANIFESTS_OF[role]
    .map((manifest) => fillIn(manifest, { ...networkSubstitutions(manifest, own!, remote!), ...offloading }))
    .join("---\n");
}

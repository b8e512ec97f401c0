import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { definedResources, tenantNamespaceName } from "../../../agent/api/index.js";
import { wireguardPublicKey } from "../../../agent/crypto/wireguard-keys.js";
import { REPOSITORY } from "../../languages/toolchain.js";
import {
  EXAMPLE,
  MANIFESTS,
  MANIFEST_FOLDER,
  fillIn,
  manifestText,
  networkSubstitutions,
  offloadingSubstitutions,
  placeholdersIn,
  type Described,
  type Manifest,
  type Substitutions,
} from "../../support/declarative-manifests.js";

/** SHA-256 of each text as the document prints it. One that differs is no longer what people copy: take the document's new text, then its digest. */
const DIGESTS: Record<Manifest, string> = {
  "tenant-namespace": "8abde332035553f533c72626df2961e593807b3ba581760e4078bddb5d2b2764",
  "tenant-namespace-example-consumer": "12131726fde00585e9fc07b12b5a3df137374e5d4f8e0f40ec20fe734794b7e4",
  "tenant-namespace-example-provider": "5fd371ebf91dc2b020a33bdfb585273950f1fdfabc7eef0fe2b48ea71d2e4ba6",
  configuration: "fea2e2277e47a4f3bd5592c7da23f928038d8fad6c37a94b56d9d2e385b0734e",
  "key-secret": "aa9604069049af1af4b817e65c1ffcb2fd6184216dd85b6b5773af940ff02997",
  "public-key": "4ba8514d660e58ca0d8c59934db4eac119c4dc013a09461dffa93bc7055abafd",
  "key-secret-example": "e53d997a4994ec0efcd8cd9e533f1b97b5ca1118ad3ebce64ac45480dc2d13a2",
  "public-key-example": "c5a68405aaee51d6426f6ec1c3b1173d11aef3c28aecac294bd12f2c8a0b6c47",
  "gateway-server": "ed8ef07c6d97150da10fafb92e87468e312a7407404f8b53cc70afa170c1b944",
  "gateway-client": "1192e36490fd1d6353e78d0cce9a29c2045462d735d8a400af7579804c33e970",
  "role-binding": "64efc57c7876e2b38ba7e3e05c6493de3a412031dd2067a393e0e7f8be7be741",
  tenant: "c9f127fb0afefd1ed5eff062dfee4a0305d71b05733a35a5f139a0ab163f5844",
  "identity-secret": "0e1df60c5a8ae0a9eeb42ef38c2d6d7214efc51bc1acbead71cf9543bb980e05",
  "resource-slice": "72e8d24e4e5168520dddf3e6538fb7e3345c88e12b70b7f4dbe03638e6fe9ccd",
  "namespace-offloading": "46ace755f75f3673a765f1657c0b56d6f262ededcdc96b927a3505a2c1b4c145",
};

const side = (id: string): Described => ({
  id,
  podCIDR: `10.${id.length}.0.0/16`,
  externalCIDR: `10.1${id.length}.0.0/16`,
  keys: { privateKey: `private of ${id}`, publicKey: `public of ${id}` },
  address: `address of ${id}`,
});
const OFFLOADING = offloadingSubstitutions({
  consumer: EXAMPLE.consumer,
  provider: EXAMPLE.provider,
  userName: "user",
  kubeconfig: "kubeconfig",
  virtualNode: "node",
  namespace: "shop",
});

describe("the manifests of Liqo's document on declarative peering", () => {
  it("are as people copy them, character by character, and there is no other", () => {
    const files = readdirSync(path.join(REPOSITORY, MANIFEST_FOLDER));
    expect(files).to.have.members(MANIFESTS.map((manifest) => `${manifest}.yaml`));
    for (const manifest of MANIFESTS)
      expect(createHash("sha256").update(manifestText(manifest)).digest("hex"), manifest).to.equal(DIGESTS[manifest]);
  });

  it("have no placeholder but those that are filled in, and nothing is filled in that none has", () => {
    const substituted = { ...networkSubstitutions("configuration", side("here"), side("there")), ...OFFLOADING };
    const pieces = Object.keys(substituted).filter((piece) => piece !== EXAMPLE.consumerPublicKey);
    expect(pieces).to.have.members([
      ...new Set(MANIFESTS.flatMap((manifest) => placeholdersIn(manifestText(manifest)))),
    ]);
    expect(manifestText("public-key-example")).to.contain(EXAMPLE.consumerPublicKey);
  });

  it("differ from the document in what is filled in alone", () => {
    const substitutions = networkSubstitutions("gateway-client", side("here"), side("there"));
    const changed = fillIn("gateway-client", substitutions).split("\n");
    const lines = manifestText("gateway-client").split("\n");
    expect(changed).to.have.length(lines.length);
    const differing = lines.flatMap((line, index) => (line === changed[index] ? [] : [changed[index]!.trim()]));
    expect(differing).to.deep.equal([
      "liqo.io/remote-cluster-id: there",
      "namespace: liqo-tenant-there",
      "name: gw-keys",
      "- address of there",
    ]);
  });

  it("are not applied with a placeholder left", () => {
    expect(() => fillIn("role-binding", { "<CONSUMER_CLUSTER_ID>": "one" })).to.throw(
      "role-binding.yaml: nothing to put in place of <PROVIDER_TENANT_NAMESPACE>",
    );
  });

  it("mean the other cluster, in its tenant namespace, whichever of the two has the server", () => {
    const networking = ["tenant-namespace", "configuration", "key-secret", "public-key"] as const;
    for (const [own, remote] of [
      [side("one"), side("other")],
      [side("other"), side("one")],
    ] as const) {
      for (const manifest of [...networking, "gateway-server", "gateway-client"] as const) {
        const { metadata } = read(manifest, networkSubstitutions(manifest, own, remote));
        expect(metadata.labels?.["liqo.io/remote-cluster-id"], manifest).to.equal(remote.id);
        const namespace = manifest === "tenant-namespace" ? metadata.name : metadata.namespace;
        expect(namespace, manifest).to.equal(manifest === "configuration" ? undefined : tenantNamespaceName(remote.id));
      }
    }
  });

  it("are of kinds and versions that the agent serves", () => {
    const served = definedResources().map(({ apiVersion, kind }) => `${apiVersion} ${kind}`);
    const substitutions = { ...networkSubstitutions("configuration", side("here"), side("there")), ...OFFLOADING };
    for (const manifest of MANIFESTS) {
      const { apiVersion, kind } = read(manifest, substitutions);
      if (apiVersion.includes("liqo.io")) expect(served, manifest).to.include(`${apiVersion} ${kind}`);
    }
  });

  it("give the provider of the examples a pair of keys", () => {
    const { data } = read("key-secret-example", {});
    expect(data).to.deep.equal(EXAMPLE.providerKeys);
    expect(wireguardPublicKey(EXAMPLE.providerKeys.privateKey)).to.equal(EXAMPLE.providerKeys.publicKey);
  });

  it("take a range as plain text or as a list in its place", () => {
    const ranges = (remote: Described): unknown =>
      read("configuration", networkSubstitutions("configuration", side("here"), remote)).spec;
    const { podCIDR, externalCIDR, ...rest } = side("there");
    expect(ranges(side("there"))).to.deep.equal({ remote: { cidr: { external: externalCIDR, pod: podCIDR } } });
    expect(ranges({ ...rest, podCIDR: `[${podCIDR}]`, externalCIDR: `[${externalCIDR}]` })).to.deep.equal({
      remote: { cidr: { external: [externalCIDR], pod: [podCIDR] } },
    });
  });
});

interface Written {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  spec?: unknown;
  data?: unknown;
}

function read(manifest: Manifest, substitutions: Substitutions): Written {
  return parse(fillIn(manifest, substitutions)) as Written;
}

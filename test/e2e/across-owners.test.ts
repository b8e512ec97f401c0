import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import {
  ConnectionResource,
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  TenantResource,
} from "../../agent/api/index.js";
import {
  DeploymentResource,
  NamespaceResource,
  NodeResource,
  PodResource,
  SecretResource,
} from "../../agent/runtime/index.js";
import { downClusters, ensureTool } from "../clusters/index.js";
import { ownObjects } from "../support/agent.js";
import { prepareAuditedLab } from "../support/audit.js";
import { exec } from "../support/exec.js";
import { REPOSITORY, type Lab, type LabCluster } from "../support/lab.js";
import { compareListings, listEverything } from "../support/listing.js";
import { PulumiStack } from "../support/pulumi.js";
import { waitFor } from "../support/wait.js";
import { WEB_PORT, deployWeb } from "../support/workload.js";
import { stopAtFirstFailure } from "../support/stop-at-first-failure.js";

const CLUSTERS = [
  { name: "owners-a", podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" },
  { name: "owners-b", podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" },
];
const NAMESPACE = "owners";
const TENANT = "liqo-tenant-consumer";
const KEEP = process.env["KEEP_CLUSTERS"] !== undefined;

/** One life of a peering, in order. Of the provider, the consumer's program has one secret output of the other's stack. */
describe("peering between two owners who share one secret stack output", function () {
  this.timeout(360_000);
  stopAtFirstFailure();

  let consumer: LabCluster;
  let provider: LabCluster;
  let ownersProvider: PulumiStack;
  let ownersConsumer: PulumiStack;
  /** Before anything, and before the consumer's first program. */
  let initial: { consumer: Set<string>; provider: Set<string> };
  let invited: Set<string>;
  let userKubeconfig: string;
  let web: Pod;
  const folder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-owners-"));

  before(async function () {
    this.timeout(25 * 60_000);
    const lab = await prepareAuditedLab(CLUSTERS);
    [consumer, provider] = lab.clusters as [LabCluster, LabCluster];
    initial = { consumer: await listEverything(consumer.client), provider: await listEverything(provider.client) };
    ownersProvider = stackOf(lab, "owners-provider", { kubeconfig: provider.cluster.kubeconfigPath });
    ownersConsumer = stackOf(lab, "owners-consumer", {
      kubeconfig: consumer.cluster.kubeconfigPath,
      namespace: NAMESPACE,
    });
    await ownersProvider.init();
    await ownersConsumer.init();
    await consumer.client.apply(NamespaceResource, { metadata: { name: NAMESPACE } }, { fieldManager: "test" });
  });

  after(async () => {
    await ownersConsumer?.remove();
    await ownersProvider?.remove();
    rmSync(folder, { recursive: true, force: true });
    if (!KEEP) await downClusters(CLUSTERS.map(({ name }) => name));
  });

  function stackOf({ pulumiBin, agentImage }: Lab, project: string, config: Record<string, string>): PulumiStack {
    return new PulumiStack({
      project: path.join(REPOSITORY, "test/e2e/projects", project),
      stateFolder: folder,
      stack: "owners",
      binFolder: pulumiBin,
      config: { ...config, image: agentImage },
    });
  }

  /** Runs kubectl with the consumer owner's credential. */
  async function asUser(...args: string[]) {
    const kubectl = await ensureTool("kubectl");
    return exec(kubectl, ["--kubeconfig", userKubeconfig, ...args], { allowFailure: true, timeoutMs: 60_000 });
  }

  it("hands out a credential as a secret output, which expires", async () => {
    await ownersProvider.up();
    const { stdout } = await ownersProvider.pulumi(["stack", "output", "--json", "--stack", "owners"]);
    expect(JSON.parse(stdout)).to.include({ kubeconfig: "[secret]" });
    expect(await ownersProvider.exportState()).to.not.contain("client-key-data");
    const { kubeconfig, expirationTimestamp } = (await ownersProvider.outputs()) as Record<string, string>;
    expect(Date.parse(expirationTimestamp ?? "") - Date.now()).to.be.within(3_000_000, 3_600_000);
    userKubeconfig = path.join(folder, "user.kubeconfig");
    writeFileSync(userKubeconfig, kubeconfig ?? "", { mode: 0o600 });
    await ownObjects(provider);
    invited = await listEverything(provider.client);
  });

  it("peers with that alone, and pods reach each other", async () => {
    await ownersConsumer.up();
    const node = String((await ownersConsumer.outputs())["virtualNodeName"]);
    [web] = (await deployWeb(consumer, NAMESPACE, { replicas: 1, node })) as [Pod];
    const client = await consumer.client.get(PodResource, { name: "client", namespace: NAMESPACE });
    expect(await fetch("client", web.status?.podIP)).to.contain(`served by ${web.metadata?.name}`);
    // As the provider's pods call the consumer's.
    const seen = await seenByProvider(client?.status?.podIP ?? "");
    expect(await fetch(web.metadata?.name ?? "", seen)).to.contain("served by client");
  });

  /** What a pod's web server answers another pod. */
  async function fetch(pod: string, address = ""): Promise<string> {
    const url = `http://${address}:${WEB_PORT}`;
    return consumer.kubectl(["exec", "-n", NAMESPACE, pod, "--", "wget", "-qO-", "-T", "5", url]);
  }

  async function publicKeys(): Promise<{ consumer?: string; provider?: string }> {
    const of = async ({ client }: LabCluster): Promise<string | undefined> => {
      const all = await Promise.all([client.list(GatewayServerResource), client.list(GatewayClientResource)]);
      return all.flatMap(({ items }) => items.map(({ status }) => status?.publicKey))[0];
    };
    return { consumer: await of(consumer), provider: await of(provider) };
  }

  /** The address by which the provider's pods reach a pod of the consumer: equal host bits in the remapped range. */
  async function seenByProvider(address: string): Promise<string> {
    const range = await provider.kubectl([
      ...["get", "configurations.networking.liqo.io", "-A", "-o", "jsonpath={.items[0].status.remote.cidr.pod[0]}"],
    ]);
    return [...range.split(".").slice(0, 2), ...address.split(".").slice(2)].join(".");
  }

  it("has nothing to change and no drift on either side", async () => {
    await ownersConsumer.preview({ expectNoChanges: true });
    await ownersConsumer.refresh({ expectNoChanges: true });
    await ownersProvider.refresh({ expectNoChanges: true });
    await ownersProvider.preview({ expectNoChanges: true });
  });

  it("changes the slice, and the keys of its own end of the tunnel", async () => {
    await ownersConsumer.setConfig("cpu", "2");
    await ownersConsumer.setConfig("keys", "second");
    const keys = await publicKeys();
    const { stdout } = await ownersConsumer.up();
    expect(stdout).to.match(/keyRotationTrigger: \w+: the gateway \w+ keeps its keys/);
    expect(stdout).to.contain(`kubectl delete secret -n ${TENANT} `);
    const now = await publicKeys();
    expect(now.provider).to.equal(keys.provider);
    expect(now.consumer).to.be.a("string").that.does.not.equal(keys.consumer);
    const virtual = { labelSelector: "liqo.io/type=virtual-node", timeoutMs: 60_000, what: "allocatable cpu 2" };
    await waitFor(consumer.client, NodeResource, virtual, ([node]) => node?.status?.allocatable?.["cpu"] === "2");
  });

  it("follows new keys that the provider's owner makes", async () => {
    const before = await publicKeys();
    const secrets = await provider.client.list(SecretResource, {
      namespace: TENANT,
      labelSelector: { [Labels.gatewayResource]: "true" },
    });
    for (const { metadata } of secrets.items)
      await provider.client.delete(SecretResource, { name: metadata?.name ?? "", namespace: TENANT });
    const what = "new keys of the provider's gateway";
    const options = { namespace: TENANT, timeoutMs: 60_000, what };
    await waitFor(provider.client, GatewayServerResource, options, ([server]) => {
      const key = server?.status?.publicKey;
      return key && key !== before.provider;
    });
    await ownersConsumer.refresh();
    await ownersConsumer.up();
    const connected = { timeoutMs: 60_000, what: "the tunnel with new keys" };
    await waitFor(
      consumer.client,
      ConnectionResource,
      connected,
      ([connection]) => connection?.status?.value === "Connected",
    );
    expect(await fetch("client", web.status?.podIP)).to.contain(`served by ${web.metadata?.name}`);
  });

  it("lets the consumer's owner do nothing else at the provider", async () => {
    const identity = `
apiVersion: v1
kind: Secret
metadata:
  name: identity
  namespace: ${TENANT}
  labels: { liqo.io/remote-cluster-id: consumer, liqo.io/identity-type: ControlPlane }
stringData: { kubeconfig: "{}" }`;
    const manifest = path.join(folder, "identity.yaml");
    writeFileSync(manifest, identity);
    for (const attempt of [
      ["get", "secrets", "-n", TENANT],
      ["get", "secrets", "-A"],
      ["get", "pods", "-A"],
      ["get", "nodes"],
      ["get", "namespaces"],
      ["run", "pod", "-n", TENANT, "--image=x", "--restart=Never"],
      ["create", "-f", manifest],
      ["get", "resourceslices.authentication.liqo.io", "-n", TENANT],
    ]) {
      const { code, stderr } = await asUser(...attempt);
      expect(code, attempt.join(" ")).to.not.equal(0);
      expect(stderr, attempt.join(" ")).to.match(/orbidden|denied the request/);
    }
  });

  it("cannot take back what the provider's owner decides", async () => {
    const cordon = (condition: string) =>
      provider.client.mergePatch(
        TenantResource,
        { name: "consumer", namespace: TENANT },
        { spec: { tenantCondition: condition } },
      );
    await cordon("Cordoned");
    const lift = ["patch", "tenant", "consumer", "-n", TENANT, "--type=merge", "-p"];
    expect((await asUser(...lift, '{"spec":{"tenantCondition":"Active"}}')).stderr).to.contain("administrator");
    expect((await asUser("delete", "tenant", "consumer", "-n", TENANT)).stderr).to.contain("administrator");
    await cordon("Active");
  });

  it("unpeers, and leaves of itself what the invitation made", async () => {
    await consumer.client.delete(DeploymentResource, { name: "web", namespace: NAMESPACE });
    await consumer.client.delete(NamespaceResource, { name: NAMESPACE });
    await ownersConsumer.destroy();
    await gone(consumer, NAMESPACE);
    expect(compareListings(initial.consumer, await listEverything(consumer.client))).to.deep.equal({
      added: [],
      removed: [],
    });
    expect(compareListings(invited, await listEverything(provider.client))).to.deep.equal({ added: [], removed: [] });
  });

  it("is worth nothing once the provider's owner takes it back", async () => {
    await ownersProvider.destroy();
    const { code, stderr } = await asUser("get", "secret", "liqo-nonce", "-n", TENANT);
    expect(code).to.not.equal(0);
    expect(stderr).to.contain("orbidden");
    await gone(provider, TENANT);
    expect(compareListings(initial.provider, await listEverything(provider.client))).to.deep.equal({
      added: [],
      removed: [],
    });
  });
});

async function gone({ client }: LabCluster, namespace: string): Promise<void> {
  const what = `namespace ${namespace} gone`;
  await waitFor(client, NamespaceResource, { timeoutMs: 120_000, what }, (all) =>
    all.every(({ metadata }) => metadata?.name !== namespace),
  );
}

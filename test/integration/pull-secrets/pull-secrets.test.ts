import { expect } from "chai";
import type { Deployment } from "kubernetes-types/apps/v1";
import type { Secret } from "kubernetes-types/core/v1";
import {
  GatewayServerResource,
  Labels,
  Names,
  VirtualNodeResource,
  WgGatewayServerTemplateResource,
} from "../../../agent/api/index.js";
import { parseControllerArguments } from "../../../agent/controller/arguments.js";
import type { ControllerContext, Startable } from "../../../agent/controller/context.js";
import { gatewayController } from "../../../agent/controller/network/gateways/gateway-controller.js";
import { SERVER } from "../../../agent/controller/network/gateways/kinds.js";
import { workloadController } from "../../../agent/controller/network/gateways/workload-controller.js";
import { virtualNodeController } from "../../../agent/controller/offloading/virtual-node/controller.js";
import { setupPullSecrets } from "../../../agent/controller/pull-secrets/index.js";
import { gatewayTemplateManifests } from "../../../agent/install/network-templates.js";
import { PULL_SECRET_RULES } from "../../../agent/install/rbac/pull-secrets.js";
import { AGENT_ROLES } from "../../../agent/install/rbac/roles.js";
import { policyRules, type ReasonedRule } from "../../../agent/install/rbac/rule.js";
import {
  ClusterRoleBindingResource,
  ClusterRoleResource,
  DeploymentResource,
  EventRecorder,
  EventResource,
  KubeClient,
  NamespaceResource,
  RoleBindingResource,
  SecretResource,
  SharedInformers,
  createLogger,
  isForbidden,
} from "../../../agent/runtime/index.js";
import { waitFor } from "../../support/wait.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";

const RBAC_GROUP = "rbac.authorization.k8s.io";
const AGENT = "liqo";
const WITH_GATEWAY = "liqo-tenant-b";
const WITH_VIRTUAL_NODE = "liqo-tenant-c";
const LATER = "liqo-tenant-d";
const WITHOUT = "liqo-tenant-e";
const REMOTE = { [Labels.remoteClusterID]: "b" };
const IMAGE = { image: "registry.example/agent:1", imagePullPolicy: "IfNotPresent" as const };
const LIMIT_MS = 40_000;

/** The copies are made with no more rights than are listed for them; what pulls with them is made by the other controllers, with the whole role. */
describe("pull Secrets of the agent's pods in tenant namespaces", function () {
  this.timeout(240_000);
  let server: ApiServer;
  let client: KubeClient;
  let stops: (() => Promise<void>)[] = [];

  async function start(
    user: string,
    names: string[],
    setup: (context: ControllerContext) => Startable[],
  ): Promise<void> {
    const own = KubeClient.fromText(await server.kubeconfigFor(user));
    const logger = createLogger("test");
    logger.level = process.env["LOG_LEVEL"] ?? "silent";
    const secrets = names.length > 0 ? [`--image-pull-secrets=${names.join(",")}`] : [];
    const args = ["--cluster-id=a", `--liqo-namespace=${AGENT}`, `--image=${IMAGE.image}`, ...secrets];
    const context: ControllerContext = {
      client: own,
      informers: new SharedInformers(own, logger),
      config: parseControllerArguments(args, {}),
      logger,
      recorder: (component) => new EventRecorder(own, component, logger),
    };
    const startables = setup(context);
    await context.informers.start();
    for (const startable of startables) await startable.start();
    stops.push(async () => {
      await Promise.all(startables.map((startable) => startable.stop()));
      await context.informers.stop();
      own.close();
    });
  }

  const startCopies = (names: string[]): Promise<void> => start("copies", names, setupPullSecrets);
  const startWorkloads = (names: string[]): Promise<void> =>
    start("workloads", names, (context) => [
      gatewayController(context, SERVER),
      workloadController(context, SERVER),
      virtualNodeController(context),
    ]);

  async function stopAll(): Promise<void> {
    await Promise.all(stops.map((stop) => stop()));
    stops = [];
  }

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer();
    client = server.client;
    await grant("copies", PULL_SECRET_RULES);
    await grant("workloads", AGENT_ROLES.controller.rules);
    for (const name of [Names.gatewayRole, Names.virtualKubeletLocalRole])
      await client.create(ClusterRoleResource, { metadata: { name }, rules: [] });
    for (const name of [AGENT, WITH_GATEWAY, WITH_VIRTUAL_NODE, LATER, WITHOUT])
      await client.create(NamespaceResource, { metadata: { name } });
    const [template] = gatewayTemplateManifests({ namespace: AGENT, ...IMAGE, imagePullSecrets: ["pull", "other"] });
    await client.create(WgGatewayServerTemplateResource, template);
    await client.create(SecretResource, pullSecret("pull", AGENT, "first"));
    await client.create(SecretResource, { ...pullSecret("opaque", AGENT, "first"), type: "Opaque" });
    await startCopies(["pull", "other", "opaque"]);
    await startWorkloads(["pull", "other"]);
    await client.create(
      GatewayServerResource,
      GatewayServerResource.build({
        metadata: { name: "b", namespace: WITH_GATEWAY, labels: REMOTE },
        spec: {
          endpoint: { port: 51_840, serviceType: "NodePort" },
          serverTemplateRef: {
            apiVersion: WgGatewayServerTemplateResource.apiVersion,
            kind: WgGatewayServerTemplateResource.kind,
            name: Names.gatewayServerTemplate,
            namespace: AGENT,
          },
        },
      }),
    );
    await client.create(VirtualNodeResource, virtualNodeIn(WITH_VIRTUAL_NODE));
  });

  after(async () => {
    await stopAll();
    await server?.stop();
  });

  async function grant(user: string, rules: readonly ReasonedRule[]): Promise<void> {
    await client.create(ClusterRoleResource, { metadata: { name: user }, rules: policyRules(rules) });
    await client.create(ClusterRoleBindingResource, {
      metadata: { name: user },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: user },
      subjects: [{ apiGroup: RBAC_GROUP, kind: "User", name: user }],
    });
  }

  /** @param credential undefined: until there is none */
  async function untilCredential(namespace: string, name: string, credential: string | undefined): Promise<void> {
    const what = `${credential === undefined ? "no" : `"${credential}" as`} Secret ${namespace}/${name}`;
    await waitFor(client, SecretResource, { namespace, timeoutMs: LIMIT_MS, what }, (secrets) => {
      const secret = secrets.find(({ metadata }) => metadata?.name === name);
      return credential === undefined ? !secret : secret?.data?.[KEY] === pullSecret(name, "", credential).data?.[KEY];
    });
  }

  function deploymentIn(namespace: string): Promise<Deployment> {
    const options = { namespace, timeoutMs: LIMIT_MS, what: `a Deployment in ${namespace}` };
    return waitFor(client, DeploymentResource, options, ([deployment]) => deployment);
  }

  it("are there where gateways and virtual nodes run, under the names that these pull with", async () => {
    for (const namespace of [WITH_GATEWAY, WITH_VIRTUAL_NODE]) {
      await untilCredential(namespace, "pull", "first");
      const { spec } = await deploymentIn(namespace);
      expect(spec?.template.spec?.imagePullSecrets, namespace).to.deep.equal([{ name: "pull" }, { name: "other" }]);
      const copy = await client.get(SecretResource, { name: "pull", namespace });
      expect(copy?.type).to.equal("kubernetes.io/dockerconfigjson");
      expect(copy?.metadata?.labels).to.deep.equal({
        "liqo.io/managed-by": "pullsecret",
        "app.kubernetes.io/part-of": "liqo",
      });
    }
  });

  it("are read by nobody from the peer: neither its identity nor its owner", async () => {
    const roles = { peer: AGENT_ROLES.remoteControlPlane, user: AGENT_ROLES.peeringUserTenant };
    for (const [user, { rules }] of Object.entries(roles)) {
      await client.create(ClusterRoleResource, { metadata: { name: user }, rules: policyRules(rules) });
      await client.create(RoleBindingResource, {
        metadata: { name: user, namespace: WITH_GATEWAY },
        roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: user },
        subjects: [{ apiGroup: RBAC_GROUP, kind: "User", name: user }],
      });
      const theirs = KubeClient.fromText(await server.kubeconfigFor(user));
      const id = { name: "pull", namespace: WITH_GATEWAY };
      const reading = [
        theirs.get(SecretResource, id),
        theirs.list(SecretResource, { namespace: WITH_GATEWAY }),
        theirs.mergePatch(SecretResource, id, { data: {} }),
      ];
      const outcomes = await Promise.allSettled(reading);
      for (const outcome of outcomes)
        expect(outcome.status === "rejected" && isForbidden(outcome.reason)).to.equal(true);
      theirs.close();
    }
  });

  it("are not made of anything else that the installation names, and not where nothing of the agent runs", async () => {
    await untilEvent(AGENT, "opaque", "NoPullSecret");
    const { items } = await client.list(SecretResource, { labelSelector: "liqo.io/managed-by=pullsecret" });
    const found = items.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`).sort();
    expect(found).to.deep.equal([`${WITH_GATEWAY}/pull`, `${WITH_VIRTUAL_NODE}/pull`]);
  });

  it("follow the original, and take back what others have made of them", async () => {
    const id = { name: "pull", namespace: AGENT };
    await client.mergePatch(SecretResource, id, { data: pullSecret("pull", AGENT, "second").data });
    for (const namespace of [WITH_GATEWAY, WITH_VIRTUAL_NODE]) await untilCredential(namespace, "pull", "second");
    const changed = { ...pullSecret("pull", WITH_GATEWAY, "changed").data, more: "eA==" };
    await client.mergePatch(SecretResource, { ...id, namespace: WITH_GATEWAY }, { data: changed });
    await untilCredential(WITH_GATEWAY, "pull", "second");
    expect(
      Object.keys((await client.get(SecretResource, { ...id, namespace: WITH_GATEWAY }))?.data ?? {}),
    ).to.deep.equal([KEY]);
    await client.delete(SecretResource, { ...id, namespace: WITH_VIRTUAL_NODE });
    await untilCredential(WITH_VIRTUAL_NODE, "pull", "second");
  });

  it("come with an original that is made later, and take its new type", async () => {
    await client.create(SecretResource, pullSecret("other", AGENT, "first"));
    await untilCredential(WITH_GATEWAY, "other", "first");
    await client.delete(SecretResource, { name: "other", namespace: AGENT });
    await untilCredential(WITH_GATEWAY, "other", undefined);
    const type = "kubernetes.io/dockercfg";
    await client.create(SecretResource, { ...pullSecret("other", AGENT, "x"), type, data: { ".dockercfg": "e30=" } });
    const options = { namespace: WITH_GATEWAY, timeoutMs: LIMIT_MS, what: "the other type" };
    await waitFor(client, SecretResource, options, (secrets) =>
      secrets.some((secret) => secret.metadata?.name === "other" && secret.type === type),
    );
  });

  it("leave a Secret of their name that is somebody else's as it is, say so, and come once it is gone", async () => {
    await client.create(SecretResource, pullSecret("pull", LATER, "own"));
    await client.create(VirtualNodeResource, virtualNodeIn(LATER));
    await untilEvent(LATER, "pull", "PullSecretNotCopied");
    await untilCredential(LATER, "pull", "own");
    await client.delete(SecretResource, { name: "pull", namespace: LATER });
    await untilCredential(LATER, "pull", "second");
  });

  it("go with the last of what runs there", async () => {
    await client.delete(VirtualNodeResource, { name: "c", namespace: LATER });
    await untilCredential(LATER, "pull", undefined);
    await untilCredential(WITH_VIRTUAL_NODE, "pull", "second");
  });

  it("go when the installation names them no more", async () => {
    await stopAll();
    await startCopies(["other"]);
    for (const namespace of [WITH_GATEWAY, WITH_VIRTUAL_NODE]) await untilCredential(namespace, "pull", undefined);
    await untilCredential(AGENT, "pull", "second");
  });

  async function untilEvent(namespace: string, object: string, reason: string): Promise<void> {
    const options = { namespace, timeoutMs: LIMIT_MS, what: `the event ${reason}` };
    await waitFor(client, EventResource, options, (events) =>
      events.some((event) => event.involvedObject.name === object && event.reason === reason),
    );
  }
});

const KEY = ".dockerconfigjson";

function pullSecret(name: string, namespace: string, credential: string): Secret {
  const config = { auths: { "registry.example": { auth: Buffer.from(`agent:${credential}`).toString("base64") } } };
  const data = { [KEY]: Buffer.from(JSON.stringify(config)).toString("base64") };
  return { metadata: { name, namespace }, type: "kubernetes.io/dockerconfigjson", data };
}

function virtualNodeIn(namespace: string) {
  const spec = { clusterID: "c", kubeconfigSecretRef: { name: "kubeconfig" }, createNode: false };
  return VirtualNodeResource.build({ metadata: { name: "c", namespace }, spec });
}

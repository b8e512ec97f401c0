import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Job } from "kubernetes-types/batch/v1";
import { parse, parseAllDocuments } from "yaml";
import { crds } from "../../../agent/api/crd.js";
import { agentManifests } from "../../../agent/install/index.js";
import type { KubeObject } from "../../../agent/runtime/index.js";
import { chartValues } from "../../../cli/helm/values.js";
import { agentInputs } from "../../../provider/resources/agent/schema.js";
import { installInputs } from "../../../provider/resources/agent/install-inputs.js";
import { ensureTool, toolVersion } from "../../clusters/index.js";
import { exec } from "../../support/exec.js";
import { HELM_LIMIT_MS, writeChart } from "./helm.js";

const REQUIRED = { clusterId: "one", podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16" };

/** One change at a time, and all at once. */
const VARIANTS: Record<string, object> = {
  "no more than what is needed": {},
  "other names and amounts": {
    image: "registry.example/agent:2",
    imagePullPolicy: "Always",
    replicas: 3,
    pingIntervalSeconds: 0,
    ipamPools: ["10.0.0.0/8", "172.16.0.0/12"],
    defaultLimitsEnforcement: "Hard",
    defaultNodeResources: { cpu: "1", memory: "1Gi" },
  },
  "a private registry": { imagePullSecrets: ["first", "second"] },
  "standby gateways": { gatewayReplicas: 2 },
  "standby gateways from a private registry": { gatewayReplicas: 2, imagePullSecrets: ["pull"] },
  "no network": { networkingEnabled: false },
  "no proxy": { apiServerProxy: false },
  "neither network nor proxy": { networkingEnabled: false, apiServerProxy: false },
  "several ranges": { podCIDRs: ["10.1.0.0/16", "10.3.0.0/16"], reservedSubnets: ["10.4.0.0/16", "10.5.0.0/16"] },
  "fixed ranges": { externalCIDR: "10.6.0.0/16", internalCIDR: "10.7.0.0/16" },
  "an address of the API server": {
    apiServerAddress: "https://api.example:6443",
    apiServerCA: "Y2E=",
    trustedCA: true,
  },
  "classes and no storage": {
    storageEnabled: false,
    ingressClasses: ["nginx", "traefik"],
    loadBalancerClasses: ["metal"],
    resourceEnforcement: false,
  },
  "keys for older TLS and slices left to another controller": {
    tlsCompatibilityMode: true,
    defaultResourceSliceClassEnabled: false,
  },
  "a storage class": { realStorageClass: "fast" },
  "labels and annotations": {
    clusterLabels: { "liqo.io/provider": "kind", "topology.kubernetes.io/region": "here" },
    labels: { team: "platform", tier: "1" },
    annotations: { note: "a: b # c" },
  },
};

describe("the agent's Helm chart", function () {
  this.timeout(120_000);
  const folder = mkdtempSync(path.join(os.tmpdir(), "liqo-chart-"));
  const chart = path.join(folder, "chart");
  const files = writeChart(chart);
  let helm: string;

  before(async function () {
    this.timeout(HELM_LIMIT_MS);
    helm = await ensureTool("helm");
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Values that replace the file's own: Helm merges maps, from which null takes an entry. */
  function replacing(values: object): object {
    const defaults = parse(files.get("values.yaml") ?? "") as Record<string, unknown>;
    const isMap = (value: unknown): value is object =>
      typeof value === "object" && value !== null && !Array.isArray(value);
    const without = (map: unknown): object =>
      isMap(map) ? Object.fromEntries(Object.keys(map).map((key) => [key, null])) : {};
    return Object.fromEntries(
      Object.entries(values).map(([name, value]: [string, unknown]) => [
        name,
        isMap(value) ? { ...without(defaults[name]), ...value } : value,
      ]),
    );
  }

  /** The values file's own defaults, with changes. */
  async function evaluate(values: object): Promise<KubeObject[]> {
    const place = ["--namespace", "agents", "--kube-version", toolVersion("kube-apiserver")];
    const args = ["template", "liqo-agent", chart, ...place, "--values", "-"];
    const { stdout } = await exec(helm, args, { input: JSON.stringify(replacing(values)) });
    const documents = parseAllDocuments(stdout, { version: "1.1" });
    expect(documents.flatMap(({ errors }) => errors)).to.deep.equal([]);
    return documents.map((document) => document.toJS() as KubeObject | null).filter((one) => one !== null);
  }

  /** What the Agent resource would apply, without what Helm brings itself. */
  function applied(values: object): KubeObject[] {
    const inputs = agentInputs.parse({ ...REQUIRED, namespace: "agents", ...values });
    const { podCIDRs = [], serviceCIDR = "", apiServerAddress = "" } = inputs;
    const objects = agentManifests(installInputs(inputs, { podCIDRs, serviceCIDR, apiServerAddress }));
    const own = objects.filter(
      ({ kind, metadata }) => kind !== "CustomResourceDefinition" && metadata?.name !== inputs.namespace,
    );
    // What users have stored must not go with a release.
    for (const { kind, metadata = {} } of own)
      if (kind === "Namespace") metadata.annotations = { ...metadata.annotations, "helm.sh/resource-policy": "keep" };
    return JSON.parse(JSON.stringify(own)) as KubeObject[];
  }

  const isHook = ({ metadata }: KubeObject): boolean => metadata?.annotations?.["helm.sh/hook"] !== undefined;
  const byName = (objects: KubeObject[]): Map<string, KubeObject> =>
    new Map(objects.map((object) => [`${object.kind} ${object.metadata?.name}`, object]));

  for (const [what, values] of Object.entries(VARIANTS)) {
    it(`renders what the Agent applies: ${what}`, async () => {
      const all = await evaluate({ ...REQUIRED, ...values });
      const [rendered, wanted] = [byName(all.filter((object) => !isHook(object))), byName(applied(values))];
      expect([...rendered.keys()].sort()).to.deep.equal([...wanted.keys()].sort());
      for (const [name, object] of wanted) expect(rendered.get(name), name).to.deep.equal(object);
    });
  }

  it("says which value is missing", async () => {
    for (const name of Object.keys(REQUIRED)) {
      const message = await evaluate({ ...REQUIRED, [name]: null }).then(
        () => "",
        (error: unknown) => (error as Error).message,
      );
      expect(message).to.contain(`${name}: is needed`);
    }
  });

  it("documents every value, with the Agent's default", () => {
    const defaults = parse(files.get("values.yaml") ?? "") as Record<string, unknown>;
    expect(Object.keys(defaults)).to.have.members(chartValues().map(({ name }) => name));
    const notValues = ["clusterId", "namespace", "forceDelete"];
    for (const [name, value] of Object.entries(agentInputs.parse({ clusterId: "x" }))) {
      if (!notValues.includes(name)) expect(defaults[name], name).to.deep.equal(value);
    }
    for (const { name } of chartValues()) expect(files.get("values.yaml")).to.match(new RegExp(`\n# .*\n${name}:`));
  });

  it("brings every custom resource definition, as Helm wants them: apart, and without templates", () => {
    for (const crd of crds()) {
      const text = files.get(`crds/${crd.metadata?.name}.yaml`) ?? "";
      expect(parse(text)).to.deep.equal(JSON.parse(JSON.stringify(crd)));
    }
  });

  it("leaves no token of its making behind", () => {
    for (const [name, text] of files) expect(text, name).to.not.match(/value--|90000\d{4}/);
  });

  it("has hooks before an uninstallation, with an image, labels and rights of their own", async () => {
    const values = {
      ...REQUIRED,
      image: "registry.example/agent:2",
      imagePullSecrets: ["pull"],
      labels: { team: "a" },
    };
    const hooks = byName((await evaluate(values)).filter(isHook));
    const name = "liqo-uninstall-guard";
    const kinds = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Job"].map((kind) => `${kind} ${name}`);
    expect([...hooks.keys()]).to.have.members(kinds);
    for (const { metadata } of hooks.values()) {
      expect(metadata?.annotations).to.include({ "helm.sh/hook": "pre-delete" });
      expect(metadata?.labels).to.include({ team: "a" });
    }
    const { spec } = hooks.get(`Job ${name}`) as Job;
    expect(spec?.template.spec).to.deep.include({ imagePullSecrets: [{ name: "pull" }], serviceAccountName: name });
    expect(spec?.template.spec?.containers[0]).to.include({ image: "registry.example/agent:2" });
    expect(spec?.template.spec?.containers[0]?.args).to.deep.equal(["uninstall-guard", "--cluster-id=one"]);
  });
});

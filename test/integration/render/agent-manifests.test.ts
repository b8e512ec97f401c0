import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { stringify } from "yaml";
import { NetworkResource } from "../../../agent/api/index.js";
import { agentManifests } from "../../../agent/install/index.js";
import { installInputs } from "../../../provider/resources/agent/install-inputs.js";
import { agentInputs } from "../../../provider/resources/agent/schema.js";
import { ensureTool } from "../../clusters/index.js";
import { exec, type ExecResult } from "../../support/exec.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";

describe("the agent's manifests, applied by kubectl", function () {
  this.timeout(120_000);
  const folder = mkdtempSync(path.join(os.tmpdir(), "liqo-manifests-"));
  const file = path.join(folder, "agent.yaml");
  let server: ApiServer;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer({ name: "fresh", crds: false });
    const ranges = { podCIDRs: ["10.1.0.0/16"], serviceCIDR: "10.2.0.0/16", apiServerAddress: "" };
    const manifests = agentManifests(installInputs(agentInputs.parse({ clusterId: "one" }), ranges));
    writeFileSync(file, manifests.map((manifest) => `---\n${stringify(manifest)}`).join(""));
  });
  after(async () => {
    server?.client.close();
    await server?.stop();
    rmSync(folder, { recursive: true });
  });

  const apply = async (): Promise<ExecResult> => {
    const access = ["--kubeconfig", server.kubeconfigPath];
    return exec(await ensureTool("kubectl"), [...access, "apply", "--server-side", "-f", file]);
  };

  it("are all there after the second time, as the documentation says: only then are their kinds known", async () => {
    const first = await apply().catch((error: Error) => error.message);
    expect(first).to.contain("ensure CRDs are installed first");
    await apply();
    const { items } = await server.client.list(NetworkResource);
    expect(items.map(({ metadata }) => metadata.name)).to.include("pod-cidr");
  });
});

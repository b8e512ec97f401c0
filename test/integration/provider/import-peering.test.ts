import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { REPOSITORY } from "../../support/lab.js";
import { START_LIMIT_MS } from "../support/api-server.js";
import { EngineLab, type Declared } from "./support/engine-lab.js";

const PAIR = { consumer: { context: "consumer" }, provider: { context: "provider" } };
const BACK = "provider/consumer";
/** What the documentation's file leaves to those in both directions. */
const REVERSE = [
  { type: "liqo:index:Authentication", name: "peering-reverse-authentication", id: `${BACK}@provider,consumer` },
  { type: "liqo:index:ResourceSlice", name: "peering-reverse-resources", id: `${BACK}/consumer@provider,consumer` },
];

interface Exported {
  deployment: { resources: { type: string; outputs?: Record<string, unknown> }[] };
}

/** The real CLI on real API servers with simulated agents: a Peering takes up what its state knows nothing of, as another tool has made it. */
describe("the import of a Peering", function () {
  this.timeout(180_000);
  let lab: EngineLab;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    lab = await EngineLab.start();
  });
  after(() => lab?.stop());

  it("takes up all that it consists of, and nothing is to be changed then", async () => {
    const env = { KUBECONFIG: lab.KUBECONFIG };
    const properties = { ...PAIR, bidirectional: true, cpu: "2", gatewayServer: { type: "NodePort" } };
    const peering: Record<string, Declared> = { peering: { type: "Peering", properties } };
    const maker = await lab.stack("maker", peering, env);
    await maker.up();
    await maker.remove();
    const before = await lab.objects();

    const adopter = await lab.stack("adopter", peering, env);
    const file = path.join(lab.folder, "adopter", "peering.json");
    const page = readFileSync(path.join(REPOSITORY, "docs/lifecycle.md"), "utf8");
    const documented = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    const { resources } = JSON.parse(documented.replaceAll("@west,east", "@consumer,provider")) as {
      resources: object[];
    };
    const reverse = REVERSE.map((child) => ({ ...child, parent: "peering" }));
    await writeFile(file, JSON.stringify({ resources: [...resources, ...reverse] }));
    const flags = ["--file", file, "--yes", "--skip-preview", "--protect=false", "--generate-code=false"];
    await adopter.pulumi(["import", ...flags, "--stack", "adopter"], { timeoutMs: 120_000 });
    await adopter.preview({ expectNoChanges: true });
    await adopter.up({}, ["--expect-no-changes"]);
    await adopter.refresh({ expectNoChanges: true });
    const { deployment } = JSON.parse(await adopter.exportState()) as Exported;
    const { outputs = {} } = deployment.resources.find(({ type }) => type === "liqo:index:Peering") ?? {};
    const secrets = Object.entries(outputs).filter(([, value]) => JSON.stringify(value).includes("ciphertext"));
    expect(secrets.map(([name]) => name)).to.have.members(["identity", "reverseIdentity"]);
    expect(Object.fromEntries(await lab.objects())).to.deep.equal(Object.fromEntries(before));

    await lab.write("adopter", { peering: { type: "Peering", properties: { ...properties, cpu: "3" } } });
    const { stdout } = await adopter.up();
    expect(stdout).to.match(/2 updated/);
    await adopter.destroy();
    const left = [...(await lab.objects()).keys()].filter((one) => one.includes("liqo-tenant-"));
    expect(left).to.deep.equal([]);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { KubeClient } from "../../../agent/runtime/index.js";
import { ServiceAccountAccess } from "../../../agent/runtime/service-account.js";
import { createAuthority } from "../../integration/support/certificates.js";

describe("runtime: a pod's ServiceAccount", () => {
  let folder: string;
  let server: https.Server;
  let port: string;
  const seen: (string | undefined)[] = [];

  before(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), "service-account-"));
    const authority = await createAuthority("cluster");
    const { certificate, key } = await authority.issue("CN=api", { ip: ["127.0.0.1"] });
    writeFileSync(path.join(folder, "ca.crt"), authority.certificate);
    writeFileSync(path.join(folder, "token"), "first\n");
    server = https.createServer({ cert: certificate, key }, ({ headers }, response) => {
      seen.push(headers.authorization);
      response.end("ok");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = String((server.address() as AddressInfo).port);
  });

  after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const access = (host: string) =>
    new ServiceAccountAccess({ KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port }, folder);

  it("proves itself by the mounted token, as it is at the time, to a server of the mounted authority", async () => {
    const client = new KubeClient(access("127.0.0.1"));
    expect(await client.text("/livez")).to.equal("ok");
    writeFileSync(path.join(folder, "token"), "second\n");
    const later = new KubeClient(access("127.0.0.1"));
    expect(await later.text("/livez")).to.equal("ok");
    expect(seen).to.deep.equal(["Bearer first", "Bearer second"]);
    client.close();
    later.close();
  });

  it("refuses a server of another authority, and names the cluster", async () => {
    writeFileSync(path.join(folder, "ca.crt"), (await createAuthority("other")).certificate);
    const client = new KubeClient(access("127.0.0.1"), { cluster: "lab" });
    const error: unknown = await client.text("/livez").then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(String(error)).to.match(/cannot reach the API server of cluster lab at https:\/\/127\.0\.0\.1:\d+: /);
  });

  it("writes an IPv6 host in brackets", () => {
    expect(access("fd00::1").getCurrentCluster()?.server).to.equal(`https://[fd00::1]:${port}`);
  });
});

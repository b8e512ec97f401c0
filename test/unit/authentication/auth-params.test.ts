import { expect } from "chai";
import { AuthParamsSource } from "../../../agent/controller/authentication/auth-params.js";
import { parseControllerArguments } from "../../../agent/controller/arguments.js";
import type { ControllerConfig, ControllerContext } from "../../../agent/controller/context.js";

const NODE = {
  metadata: { labels: { "node-role.kubernetes.io/master": "" } },
  status: {
    addresses: [
      { type: "Hostname", address: "node" },
      { type: "InternalIP", address: "192.0.2.7" },
    ],
  },
};

function source(config: Partial<ControllerConfig>, nodes: object[] = [NODE]): AuthParamsSource {
  const client = {
    list: (_type: object, { labelSelector = "" }: { labelSelector?: string }) =>
      Promise.resolve({ items: labelSelector.endsWith("/master") ? nodes : [] }),
    transport: { credentials: () => Promise.resolve({ tls: { ca: "PEM" } }) },
  };
  const context = { client, config: { ...parseControllerArguments(["--cluster-id=p"], {}), ...config } };
  return new AuthParamsSource(context as unknown as ControllerContext);
}

describe("the address and CA given to consumers", () => {
  it("are the configured ones", async () => {
    const params = await source({ apiServerAddress: "api.example.org:443", apiServerCA: "Q0E=" }).make(
      "Y3J0",
      "http://x",
    );
    expect(params).to.deep.equal({
      apiServer: "https://api.example.org:443",
      ca: "Q0E=",
      signedCRT: "Y3J0",
      proxyURL: "http://x",
    });
  });

  it("are found on the control plane's node, and in the controller's own configuration", async () => {
    const params = await source({}).make("Y3J0", undefined);
    expect(params).to.deep.equal({
      apiServer: "https://192.0.2.7:6443",
      ca: Buffer.from("PEM").toString("base64"),
      signedCRT: "Y3J0",
    });
  });

  it("leave the CA out where the certificate is publicly trusted", async () => {
    expect(await source({ trustedCA: true }).make("Y3J0", undefined)).not.to.have.property("ca");
  });

  it("must be configured where no node is a control plane", async () => {
    const failure = await source({}, [])
      .make("Y3J0", undefined)
      .catch((error: unknown) => error);
    expect(String(failure)).to.contain("--api-server-address");
  });
});

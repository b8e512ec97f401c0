import { expect } from "chai";
import { X509Certificate } from "node:crypto";
import { caBundlePatch } from "../../../agent/controller/webhooks/certificate-controller.js";
import { firstCertificate, isServing, makeCertificates } from "../../../agent/controller/webhooks/certificates.js";

const DAY_MS = 24 * 60 * 60 * 1000;

describe("webhook certificates", () => {
  it("are verified by their authority and serve the names until a third of their life is left", async () => {
    const now = new Date();
    const hosts = ["liqo-webhook.liqo.svc", "127.0.0.1"];
    const { ca, certificate } = await makeCertificates(hosts, now);
    const [authority, serving] = [new X509Certificate(ca), new X509Certificate(certificate)];
    expect(authority.ca).to.equal(true);
    expect(serving.ca).to.equal(false);
    expect(serving.checkIssued(authority) && serving.verify(authority.publicKey)).to.equal(true);
    expect(isServing(certificate, hosts, now)).to.equal(true);
    expect(isServing(certificate, ["other.svc"], now)).to.equal(false);
    expect(isServing(certificate, hosts, new Date(now.getTime() + 200 * DAY_MS))).to.equal(true);
    expect(isServing(certificate, hosts, new Date(now.getTime() + 250 * DAY_MS))).to.equal(false);
    expect(isServing("nonsense", hosts, now)).to.equal(false);
    expect(firstCertificate(ca + certificate)).to.equal(ca);
  });

  it("are written into webhooks that lack them", () => {
    const webhooks = [
      { name: "a", clientConfig: { caBundle: "new" }, admissionReviewVersions: ["v1"], sideEffects: "None" },
      { name: "b", clientConfig: {}, admissionReviewVersions: ["v1"], sideEffects: "None" },
    ];
    expect(caBundlePatch({ webhooks }, "new")).to.deep.equal([
      { op: "test", path: "/webhooks/1/name", value: "b" },
      { op: "add", path: "/webhooks/1/clientConfig/caBundle", value: "new" },
    ]);
  });
});

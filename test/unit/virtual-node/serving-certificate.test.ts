import { expect } from "chai";
import { X509Certificate } from "node:crypto";
import { execFileSync } from "node:child_process";
import type { CertificateSigningRequest } from "kubernetes-types/certificates/v1";
import type { Pod } from "kubernetes-types/core/v1";
import { VirtualNodeResource } from "../../../agent/api/index.js";
import { judge, virtualNodeOf } from "../../../agent/virtual-node/serving-certificate/approval.js";
import {
  makeSelfSigned,
  makeServingKey,
  makeServingRequest,
  readServingRequest,
} from "../../../agent/virtual-node/serving-certificate/certificate-der.js";

const key = makeServingKey();
const virtualNode = VirtualNodeResource.build({ metadata: { name: "provider", namespace: "t" }, spec: {} });
const pod: Pod = {
  metadata: { namespace: "t", labels: { "liqo.io/virtual-node": "provider" } },
  spec: { serviceAccountName: "vk-provider", containers: [] },
  status: { podIP: "10.0.0.5", podIPs: [{ ip: "10.0.0.5" }, { ip: "fd00::5" }] },
};
const request = (pem: string, spec: Partial<CertificateSigningRequest["spec"]> = {}): CertificateSigningRequest => ({
  metadata: { name: "r", labels: { "liqo.io/virtual-node": "provider" } },
  spec: {
    request: Buffer.from(pem).toString("base64"),
    signerName: "kubernetes.io/kubelet-serving",
    usages: ["digital signature", "server auth"],
    username: "system:serviceaccount:t:vk-provider",
    ...spec,
  },
});
const good = makeServingRequest(key, "provider", "10.0.0.5");

describe("serving certificate of a virtual node", () => {
  it("is asked for as a kubelet does", () => {
    expect(readServingRequest(good)).to.deep.equal({
      commonNames: ["system:node:provider"],
      organizations: ["system:nodes"],
      otherAttributes: 0,
      ips: ["10.0.0.5"],
      dns: [],
      otherNames: 0,
      otherExtensions: 0,
    });
    expect(readServingRequest(makeServingRequest(key, "p", "fd00::5")).ips).to.deep.equal(["fd00:0:0:0:0:0:0:5"]);
  });

  it("is self-signed until then", () => {
    const certificate = new X509Certificate(makeSelfSigned(key, "provider", "10.0.0.5"));
    expect(certificate.verify(certificate.publicKey)).to.equal(true);
    expect(certificate.checkIP("10.0.0.5")).to.equal("10.0.0.5");
    expect(certificate.subject).to.contain("CN=system:node:provider");
    expect(Date.parse(certificate.validTo)).to.be.greaterThan(Date.now());
  });

  it("is approved for the virtual node's own account, name and addresses only", () => {
    expect(judge(request(good), virtualNode, [pod])).to.deep.equal({ approve: true });
    expect(judge(request(makeServingRequest(key, "provider", "fd00::5")), virtualNode, [pod])).to.deep.equal({
      approve: true,
    });
    expect(judge(request(good), virtualNode, [])).to.equal("wait");
    expect(judge(request(makeServingRequest(key, "provider", "10.0.0.6")), virtualNode, [pod])).to.equal("wait");
    const refused = [
      request(makeServingRequest(key, "worker-1", "10.0.0.5")),
      request(good, { usages: ["digital signature", "server auth", "client auth"] }),
      request(good, { usages: ["digital signature"] }),
      request("nonsense"),
    ];
    for (const bad of refused) expect(judge(bad, virtualNode, [pod])).to.have.property("approve", false);
    const stranger: Pod = { ...pod, spec: { serviceAccountName: "other", containers: [] } };
    expect(judge(request(good), virtualNode, [stranger])).to.equal("wait");
  });

  it("is no business of the approver's when others ask", () => {
    expect(virtualNodeOf(request(good))).to.deep.equal({ namespace: "t", name: "provider" });
    expect(virtualNodeOf(request(good, { username: "system:serviceaccount:t:other" }))).to.equal(undefined);
    // The gateway to the same cluster.
    expect(virtualNodeOf(request(good, { username: "system:serviceaccount:t:provider" }))).to.equal(undefined);
    expect(virtualNodeOf(request(good, { username: "admin" }))).to.equal(undefined);
    expect(virtualNodeOf(request(good, { signerName: "kubernetes.io/kube-apiserver-client" }))).to.equal(undefined);
  });

  it("is refused when names of another kind are asked for", function () {
    const pem = opensslRequest("/O=system:nodes/CN=system:node:provider", "IP:10.0.0.5,DNS:evil.example");
    if (pem === undefined) return this.skip();
    expect(judge(request(pem), virtualNode, [pod])).to.have.property("approve", false);
    const fine = opensslRequest("/O=system:nodes/CN=system:node:provider", "IP:10.0.0.5");
    expect(judge(request(fine ?? ""), virtualNode, [pod])).to.deep.equal({ approve: true });
    const groups = opensslRequest("/O=system:nodes/O=system:masters/CN=system:node:provider", "IP:10.0.0.5");
    expect(judge(request(groups ?? ""), virtualNode, [pod])).to.have.property("approve", false);
  });
});

/** As another program writes it; undefined where that is not installed. */
function opensslRequest(subject: string, names: string): string | undefined {
  const args = [
    "req",
    "-new",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-keyout",
    "/dev/null",
  ];
  try {
    return execFileSync("openssl", [...args, "-subj", subject, "-addext", `subjectAltName=${names}`], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    return undefined;
  }
}

import { createPrivateKey, generateKeyPairSync, verify } from "node:crypto";
import { expect } from "chai";
import { KubeConfig } from "@kubernetes/client-node";
import {
  checkCertificateRequest,
  controlPlaneSubject,
  decodePem,
  isNonceSignature,
  isRenewalDue,
  makeCertificateRequest,
  makeKeyPair,
  makeKubeconfig,
  makeNonce,
  publicKeyOf,
  readCertificateRequest,
  readPublicKey,
  publicKeyDer,
  signNonce,
  sliceSubject,
  untilRenewal,
} from "../../../agent/crypto/index.js";
import { decodeAll, decodeOne } from "../../../agent/crypto/der.js";
import { requestFor, type RelativeName } from "../../support/certificate-request.js";

/** The key of the specification's vectors: seed 32 × 0x07. */
const PKCS8 = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, 7)]);
const KEY = createPrivateKey({ key: PKCS8, format: "der", type: "pkcs8" })
  .export({ type: "pkcs8", format: "pem" })
  .toString();
const CSR =
  "3081a4305802010030253110300e060355040a13076c69716f2e696f3111300f06035504031308636f6e73756d6572302a300506032b6570032100ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22ca000300506032b6570034100fd86d5cecc990c3693b30fa3269498b2ef05e5ab0baa05e544fe8d41be0928a25861fa9645ad5a25545484ff72accb516cf0cae6b29f6a965316b626cbc6210c";
const SIGNATURE =
  "8d23fd47bcc27798293e5d1249c41fe22d963dd26c03ee6f8a6c817e6988aab8dd2d5b23cd68432e7a88e1f5327fbbedd3dbc075c0da614b49c490ed488c0d0a";
const ZERO_NONCE = Buffer.from(Buffer.alloc(64).toString("base64"));

function ecKey(namedCurve: string): { privateKey: string; publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
  return {
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicKey: publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
}

describe("nonces", () => {
  it("are 88 characters and never the same", () => {
    expect(makeNonce()).to.match(/^[A-Za-z0-9+/]{86}==$/);
    expect(makeNonce()).not.to.equal(makeNonce());
  });

  it("are signed as the specification's vector says", () => {
    expect(signNonce(KEY, ZERO_NONCE).toString("hex")).to.equal(SIGNATURE);
  });

  it("are verified with keys of every supported type", async () => {
    for (const pair of [await makeKeyPair(), await makeKeyPair("RSA"), ecKey("prime256v1")]) {
      const signature = signNonce(pair.privateKey, ZERO_NONCE);
      expect(isNonceSignature(Buffer.from(pair.publicKey), ZERO_NONCE, signature)).to.equal(true);
      expect(isNonceSignature(Buffer.from(pair.publicKey), Buffer.from(makeNonce()), signature)).to.equal(false);
      expect(isNonceSignature(Buffer.from(publicKeyOf(KEY)), ZERO_NONCE, signature)).to.equal(false);
    }
  });

  it("are verified with the raw key of versions before 1.0.2, and with nothing that is no key", () => {
    const raw = publicKeyDer(readPublicKey(Buffer.from(publicKeyOf(KEY)))).subarray(-32);
    expect(isNonceSignature(raw, ZERO_NONCE, Buffer.from(SIGNATURE, "hex"))).to.equal(true);
    expect(isNonceSignature(Buffer.from("no key"), ZERO_NONCE, Buffer.from(SIGNATURE, "hex"))).to.equal(false);
    // A private key must not pass for a public one.
    expect(() => readPublicKey(Buffer.from(KEY))).to.throw("neither a PEM block");
  });
});

describe("certificate requests", () => {
  it("equal the specification's vector byte for byte", () => {
    const pem = makeCertificateRequest(controlPlaneSubject("consumer"), KEY);
    expect(decodePem("CERTIFICATE REQUEST", pem).toString("hex")).to.equal(CSR);
    expect(pem.endsWith("-----END CERTIFICATE REQUEST-----\n")).to.equal(true);
  });

  it("name a slice's user by twelve hexadecimal digits", () => {
    expect(sliceSubject("provider", "consumer")).to.deep.equal({
      commonName: "provider-6bfbd709d5fd",
      organization: "consumer",
    });
  });

  it("are signed validly by every type of key, and read back", async () => {
    const pairs = [await makeKeyPair(), await makeKeyPair("RSA"), ecKey("prime256v1"), ecKey("secp384r1")];
    for (const [index, pair] of pairs.entries()) {
      const subject = { commonName: "a_b", organization: "o" };
      const pem = makeCertificateRequest(subject, pair.privateKey);
      const request = readCertificateRequest(pem);
      expect(request).to.deep.include({ commonNames: ["a_b"], organizations: ["o"], otherAttributes: 0 });
      checkCertificateRequest(pem, subject, Buffer.from(pair.publicKey));
      const [info, , signature] = decodeAll(decodeOne(decodePem("CERTIFICATE REQUEST", pem)).content);
      const hash = [null, "sha256", "sha256", "sha384"][index] ?? null;
      // The first byte of a bit string counts its unused bits.
      expect(verify(hash, info!.raw, pair.publicKey, signature!.content.subarray(1))).to.equal(true);
    }
  });

  it("are refused for another subject, another key, another label, or trailing bytes", async () => {
    const pem = makeCertificateRequest(controlPlaneSubject("consumer"), KEY);
    const own = Buffer.from(publicKeyOf(KEY));
    const other = Buffer.from((await makeKeyPair()).publicKey);
    expect(() => checkCertificateRequest(pem, controlPlaneSubject("other"))).to.throw("common name");
    expect(() => checkCertificateRequest(pem, sliceSubject("consumer", "x"))).to.throw();
    expect(() => checkCertificateRequest(pem, { commonName: "consumer", organization: "system:masters" })).to.throw(
      "organization",
    );
    expect(() => checkCertificateRequest(pem, controlPlaneSubject("consumer"), other)).to.throw("public key");
    expect(() => checkCertificateRequest(`${pem}${pem}`, controlPlaneSubject("consumer"), own)).to.throw("follows");
    expect(() =>
      checkCertificateRequest(pem.replace("\n-----END", "AAAA\n-----END"), controlPlaneSubject("consumer")),
    ).to.throw();
    expect(() => checkCertificateRequest(own.toString(), controlPlaneSubject("consumer"))).to.throw("PUBLIC KEY");
    expect(() => readCertificateRequest("")).to.throw("not a PEM block");
  });

  it("are refused if their subject says more than it should, wherever: each organization would be a group", () => {
    const check = (...names: RelativeName[]): void =>
      checkCertificateRequest(requestFor(names, KEY), controlPlaneSubject("consumer"), Buffer.from(publicKeyOf(KEY)));
    const user = ["CN", "consumer"] as const;
    const group = ["O", "liqo.io"] as const;
    const other = ["O", "admins"] as const;
    check([group], [user]);
    const also = /its organization is "(liqo\.io|admins)" and "(liqo\.io|admins)", not "liqo.io" alone/;
    expect(() => check([group], [other], [user])).to.throw(also);
    expect(() => check([user], [other], [group])).to.throw(also);
    expect(() => check([group, other], [user])).to.throw(also);
    expect(() => check([group], [["CN", "other"]], [user])).to.throw('common name is "other" and "consumer"');
    expect(() => check([group], [user, ["OU", "g"]])).to.throw("says more");
    expect(() => check([user])).to.throw('organization is ""');
    expect(() => check([group])).to.throw('common name is ""');
  });
});

describe("kubeconfigs", () => {
  it("carry certificate, key, CA, proxy and namespace, and are read by the client library", () => {
    const text = makeKubeconfig({
      clusterID: "provider",
      user: "controlplane-provider",
      namespace: "liqo-tenant-consumer",
      privateKey: KEY,
      authParams: {
        apiServer: "https://192.0.2.1:6443",
        ca: "Y2E=",
        signedCRT: "Y3J0",
        proxyURL: "http://10.0.0.1:8118",
      },
    });
    const config = new KubeConfig();
    config.loadFromString(text);
    expect(config.getCurrentContext()).to.equal("default-context");
    expect(config.getCurrentCluster()).to.include({
      name: "provider",
      server: "https://192.0.2.1:6443",
      caData: "Y2E=",
      proxyUrl: "http://10.0.0.1:8118",
    });
    expect(config.getContextObject("default-context")?.namespace).to.equal("liqo-tenant-consumer");
    expect(config.getCurrentUser()?.certData).to.equal("Y3J0");
    expect(Buffer.from(config.getCurrentUser()?.keyData ?? "", "base64").toString()).to.equal(KEY);
  });

  it("need a certificate", () => {
    const options = { clusterID: "p", user: "u", privateKey: KEY, authParams: { apiServer: "https://p" } };
    expect(() => makeKubeconfig(options)).to.throw("signedCRT");
  });
});

describe("renewal", () => {
  it("is due when a third of the lifetime is left", () => {
    const validity = { notBefore: 0, notAfter: 300_000 };
    expect(isRenewalDue(validity, 199_999)).to.equal(false);
    expect(isRenewalDue(validity, 200_000)).to.equal(true);
    expect(untilRenewal(validity, 100_000)).to.be.closeTo(110_000, 1e-6);
    expect(untilRenewal(validity, 290_000)).to.equal(1_000);
    expect(untilRenewal({ notBefore: 0, notAfter: 1e13 }, 0)).to.be.below(2 ** 31);
  });
});

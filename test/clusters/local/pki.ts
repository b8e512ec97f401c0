import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { randomBytes, webcrypto } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeAtomically } from "../support/files.js";
import { addressIn } from "../spec.js";
import { clusterPaths } from "./paths.js";
import { controlPlane, type ClusterRecord } from "./record.js";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const VALIDITY_MS = 3 * 365 * 24 * 3600_000;

interface Authority {
  certificate: x509.X509Certificate;
  key: webcrypto.CryptoKey;
}

interface Leaf {
  file: string;
  /** Distinguished name, as CN=admin,O=system:masters. */
  subject: string;
  dnsNames?: string[];
  addresses?: string[];
}

/** Makes sure of a cluster's certificates and keys; those that are there stay. */
export async function ensurePki(record: ClusterRecord): Promise<void> {
  const folder = clusterPaths(record.spec.name).pki;
  const ca = await ensureAuthority(folder, "ca", `CN=${record.spec.name}-ca`);
  const frontProxy = await ensureAuthority(folder, "front-proxy-ca", "CN=front-proxy-ca");
  const leaves = [...controlPlaneLeaves(record), ...nodeLeaves(record)];
  await Promise.all([
    ...leaves.map((leaf) => ensureLeaf(folder, ca, leaf)),
    ensureLeaf(folder, frontProxy, { file: "front-proxy-client", subject: "CN=front-proxy-client" }),
    ensureKeyPair(folder, "service-account"),
  ]);
}

function controlPlaneLeaves(record: ClusterRecord): Leaf[] {
  const services = [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
  ];
  return [
    {
      file: "apiserver",
      subject: "CN=kube-apiserver",
      dnsNames: [...services, "localhost"],
      addresses: [controlPlane(record).address, addressIn(record.spec.serviceCIDR, 1), "127.0.0.1"],
    },
    { file: "apiserver-kubelet-client", subject: "CN=kube-apiserver-kubelet-client,O=system:masters" },
    { file: "admin", subject: "CN=kubernetes-admin,O=system:masters" },
    { file: "controller-manager", subject: "CN=system:kube-controller-manager" },
    { file: "scheduler", subject: "CN=system:kube-scheduler" },
    { file: "kube-proxy", subject: "CN=system:kube-proxy" },
  ];
}

function nodeLeaves(record: ClusterRecord): Leaf[] {
  return record.nodes.map((node) => ({
    file: `kubelet-${node.name}`,
    subject: `CN=system:node:${node.name},O=system:nodes`,
    dnsNames: [node.name],
    addresses: [node.address],
  }));
}

async function ensureAuthority(folder: string, file: string, subject: string): Promise<Authority> {
  const path = join(folder, `${file}.crt`);
  const keyPath = join(folder, `${file}.key`);
  if (!existsSync(path)) {
    const keys = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      ...validity(),
      serialNumber: serial(),
      name: subject,
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    writeAtomically(keyPath, await privatePem(keys.privateKey));
    // The certificate comes last: where it is, its key is.
    writeAtomically(path, certificate.toString("pem"), 0o644);
  }
  const der = x509.PemConverter.decodeFirst(readFileSync(keyPath, "utf8"));
  return {
    certificate: new x509.X509Certificate(readFileSync(path, "utf8")),
    key: await webcrypto.subtle.importKey("pkcs8", der, ALGORITHM, false, ["sign"]),
  };
}

async function ensureLeaf(folder: string, authority: Authority, leaf: Leaf): Promise<void> {
  const path = join(folder, `${leaf.file}.crt`);
  if (existsSync(path)) return;
  const keys = await generateKeys();
  const names: x509.JsonGeneralNames = [
    ...(leaf.dnsNames ?? []).map((value) => ({ type: "dns" as const, value })),
    ...(leaf.addresses ?? []).map((value) => ({ type: "ip" as const, value })),
  ];
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity(),
    serialNumber: serial(),
    subject: leaf.subject,
    issuer: authority.certificate.subject,
    publicKey: keys.publicKey,
    signingKey: authority.key,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
      await x509.AuthorityKeyIdentifierExtension.create(authority.certificate.publicKey),
    ],
  });
  writeAtomically(join(folder, `${leaf.file}.key`), await privatePem(keys.privateKey));
  writeAtomically(path, certificate.toString("pem"), 0o644);
}

/** A pair of key files, FILE.key and FILE.pub. */
async function ensureKeyPair(folder: string, file: string): Promise<void> {
  const publicPath = join(folder, `${file}.pub`);
  if (existsSync(publicPath)) return;
  const keys = await generateKeys();
  writeAtomically(join(folder, `${file}.key`), await privatePem(keys.privateKey));
  const spki = await webcrypto.subtle.exportKey("spki", keys.publicKey);
  writeAtomically(publicPath, `${x509.PemConverter.encode(spki, "PUBLIC KEY")}\n`, 0o644);
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const der = await webcrypto.subtle.exportKey("pkcs8", key);
  return `${x509.PemConverter.encode(der, "PRIVATE KEY")}\n`;
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - 3600_000), notAfter: new Date(now + VALIDITY_MS) };
}

function serial(): string {
  // A leading 01 keeps the number positive and its encoding minimal.
  return `01${randomBytes(15).toString("hex")}`;
}

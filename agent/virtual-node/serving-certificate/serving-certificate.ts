import { randomBytes, type KeyObject } from "node:crypto";
import type { CertificateSigningRequest } from "kubernetes-types/certificates/v1";
import { Labels } from "../../api/index.js";
import { untilRenewal, validityOf } from "../../crypto/certificate.js";
import { Backoff, CertificateSigningRequestResource, Informer, delay, messageOf } from "../../runtime/index.js";
import type { VirtualNodeContext } from "../context.js";
import type { ServingCertificate } from "../kubelet-api/kubelet-server.js";
import { makeSelfSigned, makeServingKey, makeServingRequest, privateKeyPem } from "./certificate-der.js";

export const KUBELET_SERVING_SIGNER = "kubernetes.io/kubelet-serving";
/** How long a request may stay unanswered before another is made. */
const ISSUE_DEADLINE_MS = 10 * 60_000;
const RETRY_FROM_MS = 2_000;
const RETRY_TO_MS = 5 * 60_000;

/** A certificate to serve with until the cluster has issued one. */
export function selfSignedCertificate(nodeName: string, ip: string): ServingCertificate {
  const key = makeServingKey();
  return { certificate: makeSelfSigned(key, nodeName, ip), key: privateKeyPem(key) };
}

/** Gets the kubelet API's certificate from the cluster's signer, and a new one in time, each with a fresh key. */
export class ServingCertificateManager {
  readonly name = "serving-certificate";
  private readonly abort = new AbortController();
  private running?: Promise<void>;

  constructor(
    private readonly context: VirtualNodeContext,
    private readonly onCertificate: (certificate: ServingCertificate) => void,
  ) {}

  start(): void {
    this.running = this.run(this.abort.signal);
  }

  async stop(): Promise<void> {
    this.abort.abort();
    await this.running;
  }

  private async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(RETRY_FROM_MS, RETRY_TO_MS);
    while (!signal.aborted) {
      try {
        const issued = await this.request(signal);
        if (!issued) continue;
        this.onCertificate(issued);
        backoff.reset();
        const validity = validityOf(issued.certificate);
        await delay(validity ? untilRenewal(validity) : RETRY_TO_MS, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.context.logger.warn({ reason: messageOf(error) }, "no serving certificate yet, will retry");
        await delay(backoff.next(), signal);
      }
    }
  }

  private async request(signal: AbortSignal): Promise<ServingCertificate | undefined> {
    const { local, config } = this.context;
    const key = makeServingKey();
    const request = makeServingRequest(key, config.nodeName, config.nodeIp);
    const name = `liqo-serving-${config.virtualNodeName}-${randomBytes(4).toString("hex")}`;
    await local.create(CertificateSigningRequestResource, {
      metadata: { name, labels: { [Labels.virtualNode]: config.virtualNodeName } },
      spec: {
        request: Buffer.from(request).toString("base64"),
        signerName: KUBELET_SERVING_SIGNER,
        usages: ["digital signature", "server auth"],
      },
    });
    const certificate = await this.issued(name, signal);
    return certificate ? this.pair(certificate, key) : undefined;
  }

  /** Resolves with the PEM certificate. Rejects when the request is denied, fails, vanishes or stays unanswered. */
  private async issued(name: string, signal: AbortSignal): Promise<string | undefined> {
    const { local, logger } = this.context;
    const informer = new Informer(local, CertificateSigningRequestResource, {
      fieldSelector: `metadata.name=${name}`,
      logger,
    });
    try {
      return await new Promise<string | undefined>((resolve, reject) => {
        const timer = setTimeout(
          () =>
            reject(new Error(`CertificateSigningRequest ${name} was not answered: is the agent's controller running?`)),
          ISSUE_DEADLINE_MS,
        );
        const settle = (act: () => void): void => {
          clearTimeout(timer);
          act();
        };
        signal.addEventListener("abort", () => settle(() => resolve(undefined)), { once: true });
        informer.onEvent((event) => {
          const certificate = event.object.status?.certificate;
          if (certificate) return settle(() => resolve(Buffer.from(certificate, "base64").toString("utf8")));
          const refusal = event.type === "deleted" ? "it was removed" : refusalOf(event.object);
          if (refusal) settle(() => reject(new Error(`CertificateSigningRequest ${name}: ${refusal}`)));
        });
        informer.start();
      });
    } finally {
      await informer.stop();
    }
  }

  private pair(certificate: string, key: KeyObject): ServingCertificate {
    this.context.logger.info("serving certificate issued");
    return { certificate, key: privateKeyPem(key) };
  }
}

function refusalOf({ status }: CertificateSigningRequest): string | undefined {
  const refused = status?.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
  return refused && `${refused.type}: ${refused.message ?? refused.reason ?? "no reason given"}`;
}

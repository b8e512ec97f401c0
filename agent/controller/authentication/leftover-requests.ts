import { Labels } from "../../api/index.js";
import { CertificateSigningRequestResource, messageOf } from "../../runtime/index.js";
import type { ControllerContext, Startable } from "../context.js";

/**
 * Provider. At its start removes the CertificateSigningRequests for consumers that an earlier process was killed over: the certificates are stored elsewhere,
 * or will be asked for anew. Only the leader makes such requests, so that none of them is still waited for. Must start before those who
 * make them.
 */
export class LeftoverRequests implements Startable {
  readonly name = "leftover-requests";

  constructor(private readonly context: ControllerContext) {}

  async start(): Promise<void> {
    const { client, logger } = this.context;
    try {
      const labelSelector = { [Labels.remoteTenantCSR]: "true" };
      const { items } = await client.list(CertificateSigningRequestResource, { labelSelector });
      const names = items.flatMap(({ metadata }) => metadata?.name ?? []);
      await Promise.all(names.map((name) => client.delete(CertificateSigningRequestResource, { name })));
      if (names.length > 0) logger.info({ requests: names.length }, "removed requests of an earlier process");
    } catch (error) {
      // They do no harm, and Kubernetes removes them in the end.
      logger.warn({ reason: messageOf(error) }, "requests of an earlier process not removed");
    }
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

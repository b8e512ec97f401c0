import { isIP } from "node:net";
import tls from "node:tls";
import type { Authority } from "./authority.js";

const TIMEOUT_MS = 5_000;
const REMEMBERED_MS = 60_000;
const MAX_REMEMBERED = 256;

/**
 * Tells by which names and addresses the API server goes: those that its certificate is valid for. A consumer that checks the certificate, as all
 * do, can use no other.
 */
export class ApiServerNames {
  private readonly remembered = new Map<string, { is: boolean; until: number }>();

  constructor(private readonly apiServer: Authority) {}

  /** Whether the API server goes by this name. @throws Error when the API server cannot be asked */
  async include(host: string): Promise<boolean> {
    const known = this.remembered.get(host);
    if (known && known.until > Date.now()) return known.is;
    const is = tls.checkServerIdentity(host, await this.certificateFor(host)) === undefined;
    this.remember(host, is);
    return is;
  }

  private remember(host: string, is: boolean): void {
    this.remembered.delete(host);
    this.remembered.set(host, { is, until: Date.now() + REMEMBERED_MS });
    for (const oldest of this.remembered.keys()) {
      if (this.remembered.size <= MAX_REMEMBERED) return;
      this.remembered.delete(oldest);
    }
  }

  /** The certificate that a client asking for this name is shown: a server may hold several. */
  private certificateFor(host: string): Promise<tls.PeerCertificate> {
    const { host: address, port } = this.apiServer;
    return new Promise((resolve, reject) => {
      const socket = tls.connect({
        host: address,
        port,
        ...(isIP(host) ? {} : { servername: host }),
        // Only read, never relied on: the bytes of a tunnel go to this same server, whatever it shows, and consumers check it themselves.
        rejectUnauthorized: false,
      });
      socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
      socket.on("error", reject);
      socket.on("secureConnect", () => {
        resolve(socket.getPeerCertificate());
        socket.destroy();
      });
    });
  }
}

import { createHash } from "node:crypto";
import type http from "node:http";
import { TLSSocket } from "node:tls";
import type { TokenReview } from "kubernetes-types/authentication/v1";
import type { KubeClient } from "../../runtime/index.js";
import { ExpiringCache } from "./expiring-cache.js";

/** Who sends a request, as the consumer's cluster knows them. */
export interface User {
  name: string;
  groups: string[];
  uid?: string;
  extra?: Record<string, string[]>;
}

const TOKEN_CACHE_MS = 60_000;

/**
 * Recognizes users as a kubelet does: by a certificate of the cluster's client CA (which the TLS server has checked), or by a bearer
 * token that the API server confirms (offloading specification, §7.3).
 */
export class Authenticator {
  private readonly tokens = new ExpiringCache<User>();

  constructor(private readonly local: KubeClient) {}

  /** The user, or undefined when nobody is recognized. Throws if the API server cannot be asked. */
  async authenticate(request: http.IncomingMessage): Promise<User | undefined> {
    const byCertificate = request.socket instanceof TLSSocket ? certificateUser(request.socket) : undefined;
    if (byCertificate) return byCertificate;
    const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    return token ? this.tokenUser(token) : undefined;
  }

  private async tokenUser(token: string): Promise<User | undefined> {
    const key = createHash("sha256").update(token).digest("base64");
    const known = this.tokens.get(key);
    if (known) return known;
    const review = await this.local.request<TokenReview>("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
      subject: "a review of a token",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } },
    });
    const { authenticated, user } = review.status ?? {};
    if (!authenticated || !user?.username) return undefined;
    const found: User = { name: user.username, groups: user.groups ?? [], uid: user.uid, extra: user.extra };
    this.tokens.set(key, found, TOKEN_CACHE_MS);
    return found;
  }
}

function certificateUser(socket: TLSSocket): User | undefined {
  if (!socket.authorized) return undefined;
  const subject = socket.getPeerCertificate().subject as { CN?: string | string[]; O?: string | string[] } | undefined;
  const name = [subject?.CN ?? []].flat()[0];
  return name ? { name, groups: [subject?.O ?? []].flat() } : undefined;
}

import type { SubjectAccessReview } from "kubernetes-types/authorization/v1";
import type { KubeClient } from "../../runtime/index.js";
import type { User } from "./authentication.js";
import { ExpiringCache } from "./expiring-cache.js";

const ALLOW_CACHE_MS = 300_000;
const DENY_CACHE_MS = 30_000;

/** Asks the consumer's API server whether a user may do something with this node (offloading specification, §7.3). */
export class Authorizer {
  private readonly decisions = new ExpiringCache<boolean>();

  constructor(
    private readonly local: KubeClient,
    private readonly nodeName: string,
  ) {}

  /** True if any of the subresources lets the user in. */
  async isAllowed(user: User, verb: string, subresources: string[]): Promise<boolean> {
    for (const subresource of subresources) if (await this.decide(user, verb, subresource)) return true;
    return false;
  }

  private async decide(user: User, verb: string, subresource: string): Promise<boolean> {
    const key = JSON.stringify([user, verb, subresource]);
    const known = this.decisions.get(key);
    if (known !== undefined) return known;
    const body: SubjectAccessReview = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: {
        user: user.name,
        groups: user.groups,
        uid: user.uid,
        extra: user.extra,
        resourceAttributes: { version: "v1", resource: "nodes", name: this.nodeName, subresource, verb },
      },
    };
    const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    const { status } = await this.local.request<SubjectAccessReview>("POST", path, {
      body,
      subject: "an access review",
    });
    const allowed = status?.allowed === true;
    this.decisions.set(key, allowed, allowed ? ALLOW_CACHE_MS : DENY_CACHE_MS);
    return allowed;
  }
}

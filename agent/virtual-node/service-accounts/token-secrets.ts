import type { Pod, Secret } from "kubernetes-types/core/v1";
import type { TokenRequest } from "kubernetes-types/authentication/v1";
import { Labels } from "../../api/index.js";
import { isLabelValue } from "../../api/kubernetes-names.js";
import {
  Informer,
  PodResource,
  SecretResource,
  isAlreadyExists,
  isRefused,
  messageOf,
  objectPath,
  ServiceAccountResource,
  keyOf,
  kubeTime,
} from "../../runtime/index.js";
import { REFLECTION_FIELD_MANAGER, type NamespacePair, type VirtualNodeContext } from "../context.js";
import { isReflected, reflectionLabels } from "../reflection/reflected-metadata.js";
import { tokenSecretName, tokenSources, wantsApiServer, type TokenSource } from "./api-access.js";

const ACCOUNT_LABEL = "offloading.liqo.io/service-account-name";
const POD_NAME_ANNOTATION = "offloading.liqo.io/service-account-for-pod-name";
const POD_UID_ANNOTATION = "offloading.liqo.io/service-account-for-pod-uid";
const EXPIRATION_ANNOTATION = "offloading.liqo.io/service-account-expiration";
const REFRESH_AT = 0.8;
const REFRESH_JITTER_MS = 30_000;

/**
 * Gives an offloaded pod the service account tokens that its volumes ask for, by one Secret beside the remote pod
 * (offloading specification, §9). Tokens are bound to the local pod, so they die with it; they are refreshed at 80 % of their life.
 */
export class TokenSecrets {
  /** When each pod's tokens are due, by pod UID. */
  private readonly refreshAt = new Map<string, number>();

  constructor(private readonly context: VirtualNodeContext) {}

  /** Watches the Secrets made for this node's pods; only their metadata and keys are kept. */
  informer(pair: NamespacePair): Informer<Secret> {
    const { remote, logger, config } = this.context;
    return new Informer(remote, SecretResource, {
      namespace: pair.remote,
      labelSelector: `${Labels.offloadingOrigin}=${config.homeClusterId},${Labels.offloadingNodeName}=${config.nodeName}`,
      trim: ({ apiVersion, kind, metadata, data }) => ({
        apiVersion,
        kind,
        metadata,
        data: Object.fromEntries(Object.keys(data ?? {}).map((key) => [key, ""])),
      }),
      logger,
    });
  }

  /** The name of the local pod that a Secret was made for. */
  static podNameOf(secret: Secret): string | undefined {
    return secret.metadata?.annotations?.[POD_NAME_ANNOTATION];
  }

  /** Brings the pod's Secret up to date. Returns in how many milliseconds it must be looked at again, if ever. */
  async ensure(pod: Pod, pair: NamespacePair, secrets: Informer<Secret>): Promise<number | undefined> {
    if (!wantsApiServer(pod, this.context.config.apiServerSupport)) return undefined;
    const sources = tokenSources(pod);
    const { name = "", uid = "" } = pod.metadata ?? {};
    const present = secrets.find(pair.remote, tokenSecretName(name));
    const due = this.dueAt(pod, present, sources);
    if (due > Date.now()) return due - Date.now();
    if (present && present.metadata?.annotations?.[POD_UID_ANNOTATION] !== uid) {
      await this.remove(name, pair, secrets);
    }
    const { secret, refreshAt } = await this.request(pod, pair, sources);
    secrets.observe(await this.write(pod, secret, present !== undefined));
    this.refreshAt.set(uid, refreshAt);
    return Math.max(1_000, refreshAt - Date.now());
  }

  /** What keeps the provider from taking it, as a quota, is told on the pod. */
  private async write(pod: Pod, secret: Secret, present: boolean): Promise<Secret> {
    try {
      return await this.put(pod, secret, present);
    } catch (error) {
      const { recorder, config } = this.context;
      const reason = `the pod's token is not taken by cluster ${config.foreignClusterId}: ${messageOf(error)}`;
      if (isRefused(error)) recorder.warning(PodResource, pod, "FailedReflection", reason);
      throw error;
    }
  }

  private async put(pod: Pod, secret: Secret, present: boolean): Promise<Secret> {
    const { remote } = this.context;
    const options = { fieldManager: REFLECTION_FIELD_MANAGER };
    if (present) return remote.apply(SecretResource, secret, options);
    try {
      return await remote.create(SecretResource, secret, options);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    await this.refuseForeign(pod, secret);
    return remote.apply(SecretResource, secret, options);
  }

  /** A Secret of that name is there but not in our cache: another's, a reflected one of the consumer's, another node's, or ours and not yet told. */
  private async refuseForeign(pod: Pod, secret: Secret): Promise<void> {
    const { remote, config, recorder } = this.context;
    const { name = "", namespace } = secret.metadata ?? {};
    const found = await remote.get(SecretResource, { name, namespace });
    if (!found || this.isOwn(found)) return;
    const message = `Secret ${keyOf(found)} already exists in cluster ${config.foreignClusterId} and has not the tokens of this pod, which waits for them: remove it, or rename the one here if it was reflected`;
    recorder.warning(PodResource, pod, "FailedReflection", message);
    // Nothing tells when it goes: to be tried again.
    throw new Error(message);
  }

  private isOwn({ metadata }: Secret): boolean {
    const { config } = this.context;
    const reflection = { origin: config.homeClusterId, destination: config.foreignClusterId };
    return isReflected(metadata, reflection) && metadata?.labels?.[Labels.offloadingNodeName] === config.nodeName;
  }

  /** Removes the Secret of a pod that is gone. */
  async remove(podName: string, pair: NamespacePair, secrets: Informer<Secret>): Promise<void> {
    const present = secrets.find(pair.remote, tokenSecretName(podName));
    if (!present) return;
    const { name = "", namespace, uid } = present.metadata ?? {};
    await this.context.remote.delete(SecretResource, { name, namespace }, { uid });
  }

  forget(podUid: string): void {
    this.refreshAt.delete(podUid);
  }

  private dueAt(pod: Pod, present: Secret | undefined, sources: TokenSource[]): number {
    const { uid = "" } = pod.metadata ?? {};
    const annotations = present?.metadata?.annotations;
    const complete = sources.every(({ key }) => present?.data?.[key] !== undefined);
    if (!complete || annotations?.[POD_UID_ANNOTATION] !== uid) return 0;
    const known = this.refreshAt.get(uid);
    if (known !== undefined) return known;
    // After a restart only the earliest expiration is known: with a fifth of the shortest life left it is time.
    const shortest = Math.min(...sources.map(({ expirationSeconds }) => expirationSeconds)) * 1000;
    return Date.parse(annotations?.[EXPIRATION_ANNOTATION] ?? "") - shortest * (1 - REFRESH_AT) || 0;
  }

  private async request(
    pod: Pod,
    pair: NamespacePair,
    sources: TokenSource[],
  ): Promise<{ secret: Secret; refreshAt: number }> {
    const { config } = this.context;
    const requestedAt = Date.now();
    const tokens = await Promise.all(sources.map((source) => this.requestToken(pod, source)));
    const expirations = tokens.map(({ expiresAt }) => expiresAt);
    const earliest = Math.min(...expirations);
    const { name = "", uid = "" } = pod.metadata ?? {};
    const reflection = { origin: config.homeClusterId, destination: config.foreignClusterId };
    const secret: Secret = {
      metadata: {
        name: tokenSecretName(name),
        namespace: pair.remote,
        labels: {
          ...reflectionLabels(reflection),
          [Labels.offloadingNodeName]: config.nodeName,
          // For people who look: a name that is too long for a label is left out.
          ...(isLabelValue(accountOf(pod)) ? { [ACCOUNT_LABEL]: accountOf(pod) } : {}),
        },
        annotations: {
          [POD_NAME_ANNOTATION]: name,
          [POD_UID_ANNOTATION]: uid,
          [EXPIRATION_ANNOTATION]: kubeTime(new Date(earliest)),
        },
      },
      type: "Opaque",
      data: Object.fromEntries(tokens.map(({ key, token }) => [key, Buffer.from(token).toString("base64")])),
    };
    const refreshAt = requestedAt + (earliest - requestedAt) * REFRESH_AT - Math.random() * REFRESH_JITTER_MS;
    return { secret, refreshAt };
  }

  private async requestToken(
    pod: Pod,
    source: TokenSource,
  ): Promise<{ key: string; token: string; expiresAt: number }> {
    const { local, recorder } = this.context;
    const { name = "", namespace = "", uid } = pod.metadata ?? {};
    const path = objectPath(ServiceAccountResource, { name: accountOf(pod), namespace }, "token");
    const body: TokenRequest = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        audiences: source.audience ? [source.audience] : [],
        expirationSeconds: source.expirationSeconds,
        boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
      },
    };
    try {
      const subject = `the token of ServiceAccount ${namespace}/${accountOf(pod)}`;
      const { status } = await local.request<TokenRequest>("POST", path, { body, subject });
      if (!status) throw new Error(`${subject}: the answer has no status`);
      return { key: source.key, token: status.token, expiresAt: Date.parse(status.expirationTimestamp) };
    } catch (error) {
      recorder.warning(PodResource, pod, "FailedReflection", `the pod waits for its token: ${messageOf(error)}`);
      throw error;
    }
  }
}

function accountOf(pod: Pod): string {
  return pod.spec?.serviceAccountName ?? "default";
}

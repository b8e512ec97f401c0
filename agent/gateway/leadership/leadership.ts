import type { Pod } from "kubernetes-types/core/v1";
import { Labels } from "../../api/labels.js";
import {
  HolderLease,
  Informer,
  PodResource,
  delay,
  identityMetadata,
  isDeleting,
  messageOf,
  type KubeClient,
  type Logger,
} from "../../runtime/index.js";
import type { GatewayArguments } from "../arguments.js";
import { FIELD_MANAGER, SIBLING_PORT } from "../constants.js";
import { HeartbeatListener, type SiblingState } from "./heartbeat-listener.js";
import { HeartbeatServer } from "./heartbeat-server.js";
import { leaseName } from "./lease-name.js";
import { Tenure } from "./tenure.js";

/** How often the active replica renews its Lease, and the others look at it. */
const RENEW_MS = 2_000;
/** How often while there is no other replica, which the watch tells at once. */
const RENEW_ALONE_MS = 5_000;
/** A holder that is not heard is given up once it has not renewed for this long. */
const SILENT_HOLDER_MS = 5_000;
/** A holder that does not get through to the API server, and that no standby hears, is gone by its own will before one gives it up: two renewals are missing. */
const TENURE_MS = (SILENT_HOLDER_MS * 4) / 5;
const FAILURE_MS = 500;

/**
 * Decides which of a gateway's replicas serves (network specification, §5.3): the holder of a Lease. Standbys hear the holder's heartbeats and
 * replace it the moment its process ends, without waiting for the Lease to run out. The holder bears the label that the Service and
 * the fabric follow.
 *
 * Two at once would fight for the peer with one key. So a holder that cannot reach the API server goes on only while nobody else can take
 * its place: as long as a standby hears it, which leaves it the place even when the Lease has run out, or where there is no standby. One that
 * no standby hears leaves its place before they give it up, and takes it again if it is still free once the API server answers.
 */
export class Leadership {
  private leading = false;
  /** Something has happened that the next pass should see at once. */
  private isCalled = false;
  private wakeUp: () => void = () => undefined;
  private readonly lease: HolderLease;
  private readonly siblings: Informer<Pod>;
  private readonly server: HeartbeatServer;
  private readonly listener: HeartbeatListener;
  /** Nobody could take the place of a holder without rivals, or of one that is heard. */
  private readonly tenure = new Tenure(
    TENURE_MS,
    () => !this.hasRivals || this.server.isHeard,
    () => this.lead(false),
  );
  /** Whether the watch knows of another replica that runs. */
  private hasRivals = false;
  private readonly ended = new AbortController();
  private running?: Promise<void>;

  constructor(
    private readonly client: KubeClient,
    private readonly args: Pick<GatewayArguments, "name" | "namespace" | "mode" | "podName">,
    private readonly logger: Logger,
    private readonly onChange: () => void,
    /** Of the heartbeats. In clusters each replica has an address of its own. */
    ports = { own: SIBLING_PORT, others: SIBLING_PORT },
  ) {
    this.server = new HeartbeatServer(ports.own, () => this.leading);
    this.listener = new HeartbeatListener(() => this.call(), ports.others);
    const { name, namespace, podName } = args;
    this.lease = new HolderLease(client, { namespace, name: leaseName(args), identity: podName });
    this.siblings = new Informer(client, PodResource, {
      namespace,
      labelSelector: `${Labels.gatewayName}=${name}`,
      trim: trimSibling,
      logger,
    }).onEvent(() => this.seeSiblings());
  }

  get isLeader(): boolean {
    return this.leading;
  }

  async start(): Promise<void> {
    this.siblings.start();
    await Promise.all([this.siblings.waitForSync(), this.server.listen()]);
    this.running = this.run();
  }

  /** Leaves the place to another replica. */
  async stop(): Promise<void> {
    this.ended.abort();
    this.call();
    await this.running;
    this.tenure.stop();
    this.listener.close();
    if (this.leading) {
      await this.lease
        .release()
        .catch((error: unknown) => this.logger.warn({ reason: messageOf(error) }, "lease kept"));
    }
    this.server.close();
    await this.siblings.stop();
  }

  private async run(): Promise<void> {
    while (!this.ended.signal.aborted) {
      let pause = FAILURE_MS;
      try {
        await this.pass();
        pause = this.leading ? renewMs(this.siblings.list().length) : nextLookMs(this.lease, this.listener.state);
      } catch (error) {
        this.logger.warn({ reason: messageOf(error) }, "leadership not settled, will retry");
      }
      await this.idle(pause);
    }
  }

  private async pass(): Promise<void> {
    const { lease } = this;
    if (!this.leading || !(await this.claim())) {
      await lease.look(this.ended.signal);
      const holder = this.holderPod();
      this.listener.follow(lease.isOurs ? undefined : holder?.status?.podIP);
      const isFree = isVacant(lease, holder, this.listener.state);
      this.lead(isFree && (await this.claim()));
    }
    if (this.leading) await this.wearLabel();
  }

  /** What the answer grants counts from the question on: others may have seen it as early. */
  private async claim(): Promise<boolean> {
    const askedAt = Date.now();
    const isOurs = await this.lease.claim();
    // Without others nothing ends it, and there is nothing to look at.
    if (isOurs && this.hasRivals) this.tenure.renew(askedAt);
    return isOurs;
  }

  private lead(isLeader: boolean): void {
    if (isLeader === this.leading) return;
    this.leading = isLeader;
    this.logger.info({ holder: this.lease.holder }, isLeader ? "active" : this.reasonNotToLead());
    if (isLeader) this.listener.follow(undefined);
    else this.tenure.stop();
    this.onChange();
  }

  private reasonNotToLead(): string {
    return this.lease.isOurs
      ? "not active: neither the API server can be reached, nor does another replica hear this one"
      : "another replica is active";
  }

  private seeSiblings(): void {
    const { podName } = this.args;
    const hasRivals = this.siblings
      .list()
      .some((pod) => pod.metadata?.name !== podName && !isDeleting(pod) && pod.status?.podIP !== undefined);
    // One that has only just come cannot have waited for a renewal yet.
    if (hasRivals && !this.hasRivals && this.leading) this.tenure.renew();
    if (!hasRivals) this.tenure.stop();
    this.hasRivals = hasRivals;
    this.call();
  }

  private holderPod(): Pod | undefined {
    const pod = this.lease.holder ? this.siblings.find(this.args.namespace, this.lease.holder) : undefined;
    return pod && !isDeleting(pod) ? pod : undefined;
  }

  /** Only the active replica's pod bears the label. */
  private async wearLabel(): Promise<void> {
    const { namespace, podName } = this.args;
    await Promise.all(
      this.siblings.list().map(async (pod) => {
        const name = pod.metadata?.name ?? "";
        const wanted = name === podName ? "true" : undefined;
        if (pod.metadata?.labels?.[Labels.gatewayActive] === wanted || (isDeleting(pod) && !wanted)) return;
        const patch = { metadata: { labels: { [Labels.gatewayActive]: wanted ?? null } } };
        this.siblings.observe(
          await this.client.mergePatch(PodResource, { name, namespace }, patch, { fieldManager: FIELD_MANAGER }),
        );
      }),
    );
  }

  private call(): void {
    this.isCalled = true;
    this.wakeUp();
  }

  private async idle(milliseconds: number): Promise<void> {
    const woken = new AbortController();
    this.wakeUp = () => woken.abort();
    if (!this.isCalled) await delay(milliseconds, woken.signal);
    this.isCalled = false;
  }
}

/** Whether nobody serves, as far as can be told. */
export function isVacant(
  lease: Pick<HolderLease, "holder" | "isOurs" | "isExpired" | "ageMs">,
  holderPod: Pod | undefined,
  state: SiblingState,
): boolean {
  if (lease.holder === undefined || lease.isOurs) return true;
  if (!holderPod || state === "dead") return true;
  // It serves, though it does not get through to the API server.
  if (state === "alive") return false;
  return lease.isExpired || (state === "silent" && lease.ageMs > SILENT_HOLDER_MS);
}

/** Milliseconds until the active one of so many replicas renews its Lease. */
export function renewMs(replicas: number): number {
  return replicas > 1 ? RENEW_MS : RENEW_ALONE_MS;
}

/** Milliseconds after which a standby looks at the holder again: a host that has gone says nothing, but from when on its place is free can be told. */
export function nextLookMs({ ageMs }: Pick<HolderLease, "ageMs">, state: SiblingState): number {
  if (state !== "silent") return RENEW_MS;
  return Math.min(RENEW_MS, Math.max(SILENT_HOLDER_MS - ageMs + 1, FAILURE_MS));
}

function trimSibling(pod: Pod): Pod {
  const active = pod.metadata?.labels?.[Labels.gatewayActive];
  return {
    metadata: { ...identityMetadata(pod), labels: active === undefined ? {} : { [Labels.gatewayActive]: active } },
    status: { podIP: pod.status?.podIP },
  };
}

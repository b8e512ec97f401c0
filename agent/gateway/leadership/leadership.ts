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
import { FIELD_MANAGER } from "../constants.js";
import { HeartbeatListener, type SiblingState } from "./heartbeat-listener.js";
import { HeartbeatServer } from "./heartbeat-server.js";
import { leaseName } from "./lease-name.js";

/** How often the active replica renews its Lease, and the others look at it. */
const RENEW_MS = 2_000;
/** How often while there is no other replica, which the watch tells at once. */
const RENEW_ALONE_MS = 5_000;
/** A holder that is not heard is given up once it has not renewed for this long. */
const SILENT_HOLDER_MS = 5_000;
const FAILURE_MS = 500;

/**
 * Decides which of a gateway's replicas serves (network specification, §5.3): the holder of a Lease. Standbys hear the holder's heartbeats and
 * replace it the moment its process ends, without waiting for the Lease to run out. The holder bears the label that the Service and
 * the fabric follow. While the API server cannot be reached it goes on: nobody else can take its place then.
 */
export class Leadership {
  private leading = false;
  /** Something has happened that the next pass should see at once. */
  private isCalled = false;
  private wakeUp: () => void = () => undefined;
  private readonly lease: HolderLease;
  private readonly siblings: Informer<Pod>;
  private readonly server = new HeartbeatServer();
  private readonly listener = new HeartbeatListener(() => this.call());
  private readonly ended = new AbortController();
  private running?: Promise<void>;

  constructor(
    private readonly client: KubeClient,
    private readonly args: Pick<GatewayArguments, "name" | "namespace" | "mode" | "podName">,
    private readonly logger: Logger,
    private readonly onChange: () => void,
  ) {
    const { name, namespace, podName } = args;
    this.lease = new HolderLease(client, { namespace, name: leaseName(args), identity: podName });
    this.siblings = new Informer(client, PodResource, {
      namespace,
      labelSelector: `${Labels.gatewayName}=${name}`,
      trim: trimSibling,
      logger,
    }).onEvent(() => this.call());
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
    this.listener.close();
    if (this.leading) {
      await this.lease
        .release()
        .catch((error: unknown) => this.logger.warn({ reason: messageOf(error) }, "lease kept"));
    }
    this.server.close();
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
    if (!this.leading || !(await lease.claim())) {
      await lease.look(this.ended.signal);
      const holder = this.holderPod();
      this.listener.follow(lease.isOurs ? undefined : holder?.status?.podIP);
      const isFree = isVacant(lease, holder, this.listener.state);
      this.lead(isFree && (await lease.claim()));
    }
    if (this.leading) await this.wearLabel();
  }

  private lead(isLeader: boolean): void {
    if (isLeader === this.leading) return;
    this.leading = isLeader;
    this.logger.info({ holder: this.lease.holder }, isLeader ? "active" : "another replica is active");
    if (isLeader) this.listener.follow(undefined);
    this.onChange();
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
  if (lease.holder === undefined || lease.isOurs || lease.isExpired) return true;
  if (!holderPod || state === "dead") return true;
  return state === "silent" && lease.ageMs > SILENT_HOLDER_MS;
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

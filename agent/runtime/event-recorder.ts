import type { ObjectReference } from "kubernetes-types/core/v1";
import { NAME_LENGTH } from "../api/kubernetes-names.js";
import { kubeTime } from "./conditions.js";
import { EventResource } from "./core-resources.js";
import type { KubeClient } from "./kube-client.js";
import { messageOf } from "./kube-error.js";
import type { Logger } from "./logger.js";
import { apiVersionOf, type KubeObject, type ResourceType } from "./resource-type.js";

/** For how long the same event only raises its count. */
const SAME_MS = 300_000;
/** So many Normal events are written at once; those of a crowd follow at this pace, while the API server does what they tell of. */
const BURST = 10;
const PACE_MS = 100;

/** What is told, of which object. */
interface Told {
  object: ObjectReference;
  type: "Normal" | "Warning";
  reason: string;
  message: string;
  /** Milliseconds since the epoch. */
  at: number;
}

/** Writes Kubernetes events on the objects that people look at. The same event within five minutes only raises its count. */
export class EventRecorder {
  private readonly recent = new Map<string, { name: string; namespace: string; count: number; at: number }>();
  /** When the last Normal event was due, had they all come at an even pace. */
  private lastDue = 0;

  constructor(
    private readonly client: KubeClient,
    private readonly component: string,
    private readonly logger: Logger,
  ) {}

  normal<T extends KubeObject>(type: ResourceType<T>, object: T, reason: string, message: string): void {
    const at = Date.now();
    const told: Told = { object: referenceTo(type, object), type: "Normal", reason, message, at };
    this.lastDue = Math.max(this.lastDue + PACE_MS, at - (BURST - 1) * PACE_MS);
    const waitMs = this.lastDue - at;
    if (waitMs <= 0) void this.record(told);
    // Nobody waits for it at the process's end.
    else setTimeout(() => void this.record(told), waitMs).unref();
  }

  /** At once, whatever else is told. */
  warning<T extends KubeObject>(type: ResourceType<T>, object: T, reason: string, message: string): void {
    void this.record({ object: referenceTo(type, object), type: "Warning", reason, message, at: Date.now() });
  }

  private async record(told: Told): Promise<void> {
    const key = JSON.stringify([{ ...told.object, resourceVersion: "" }, told.type, told.reason, told.message]);
    const { at } = told;
    const present = this.recent.get(key);
    try {
      if (present && at - present.at < SAME_MS) {
        present.count += 1;
        present.at = at;
        await this.client.mergePatch(EventResource, present, {
          count: present.count,
          lastTimestamp: kubeTime(new Date(at)),
        });
        return;
      }
      this.forgetOld(at);
      const { name = "", namespace = "default" } = told.object;
      const suffix = `.${at.toString(16)}${Math.floor(Math.random() * 65_536).toString(16)}`;
      // The longest names leave no room for it.
      const eventName = name.slice(0, NAME_LENGTH - suffix.length).replace(/[-.]+$/, "") + suffix;
      this.recent.set(key, { name: eventName, namespace, count: 1, at });
      await this.create({ name: eventName, namespace }, told);
    } catch (error) {
      // An event is a courtesy: losing one must not fail the work it tells of.
      this.recent.delete(key);
      this.logger.debug({ reason: messageOf(error) }, "event not written");
    }
  }

  private async create(metadata: { name: string; namespace: string }, told: Told): Promise<void> {
    const { object, type, reason, message, at } = told;
    await this.client.create(EventResource, {
      metadata,
      involvedObject: object,
      type,
      reason,
      message: message.slice(0, 1024),
      source: { component: this.component },
      reportingComponent: this.component,
      reportingInstance: this.component,
      firstTimestamp: kubeTime(new Date(at)),
      lastTimestamp: kubeTime(new Date(at)),
      count: 1,
    });
  }

  private forgetOld(now: number): void {
    for (const [key, { at }] of this.recent) if (now - at > SAME_MS) this.recent.delete(key);
  }
}

function referenceTo(type: ResourceType, { metadata }: KubeObject): ObjectReference {
  const { name, namespace, uid, resourceVersion } = metadata ?? {};
  return { apiVersion: apiVersionOf(type), kind: type.kind, name, namespace, uid, resourceVersion };
}

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
/** So many Normal events may be written at once, and as many more as the pace allows; the others of a crowd wait. */
const BURST = 10;
const PACE_MS = 100;
/** A crowd's events are written, at that pace, when nothing more has been told of for so long: what they tell of comes first at the API server. */
const REST_MS = 2_000;
/** None waits longer than this for rest. */
const PATIENCE_MS = 10_000;

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
  /** Normal events whose turn is yet to come, in the order of their turns. */
  private readonly waiting: Told[] = [];
  /** When the last Normal event was due, had they all come at an even pace. */
  private lastDue = 0;
  /** When the last Normal event came, and when the last of those that waited had its turn. */
  private lastCame = 0;
  private lastTurn = 0;
  private nextTurn?: NodeJS.Timeout;
  private nextForgetting?: NodeJS.Timeout;

  constructor(
    private readonly client: KubeClient,
    private readonly component: string,
    private readonly logger: Logger,
  ) {}

  normal<T extends KubeObject>(type: ResourceType<T>, object: T, reason: string, message: string): void {
    const at = Date.now();
    const told: Told = { object: referenceTo(type, object), type: "Normal", reason, message, at };
    this.lastCame = at;
    this.lastDue = Math.max(this.lastDue + PACE_MS, at - (BURST - 1) * PACE_MS);
    // Those that wait come first.
    if (this.lastDue <= at && this.waiting.length === 0) return void this.record(told);
    this.lastDue = Math.min(this.lastDue, at);
    this.waiting.push(told);
    this.waitForTurn();
  }

  /** At once, whatever else is told. */
  warning<T extends KubeObject>(type: ResourceType<T>, object: T, reason: string, message: string): void {
    void this.record({ object: referenceTo(type, object), type: "Warning", reason, message, at: Date.now() });
  }

  /** One timer for all that wait; nobody waits for them at the process's end. */
  private waitForTurn(): void {
    if (this.waiting.length === 0) return;
    this.nextTurn ??= setTimeout(() => this.takeTurn(), Math.max(1, this.turn() - Date.now())).unref();
  }

  private takeTurn(): void {
    this.nextTurn = undefined;
    // More may have come meanwhile.
    if (this.turn() <= Date.now()) {
      this.lastTurn = Date.now();
      const told = this.waiting.shift();
      if (told) void this.record(told);
    }
    this.waitForTurn();
  }

  /** When the first of those that wait may be written; milliseconds since the epoch. */
  private turn(): number {
    const longest = (this.waiting[0]?.at ?? 0) + PATIENCE_MS;
    return Math.max(this.lastTurn + PACE_MS, Math.min(this.lastCame + REST_MS, longest));
  }

  private async record(told: Told): Promise<void> {
    const { apiVersion, kind, namespace: place, name: subject, uid } = told.object;
    const key = [apiVersion, kind, place, subject, uid, told.type, told.reason, told.message].join("|");
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
      const { name = "", namespace = "default" } = told.object;
      const suffix = `.${at.toString(16)}${Math.floor(Math.random() * 65_536).toString(16)}`;
      // The longest names leave no room for it.
      const eventName = name.slice(0, NAME_LENGTH - suffix.length).replace(/[-.]+$/, "") + suffix;
      this.recent.set(key, { name: eventName, namespace, count: 1, at });
      this.forgetLater();
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

  /** What a crowd has left must not stay when nothing more is told. */
  private forgetLater(): void {
    this.nextForgetting ??= setTimeout(() => {
      this.nextForgetting = undefined;
      const now = Date.now();
      for (const [key, { at }] of this.recent) if (now - at >= SAME_MS) this.recent.delete(key);
      if (this.recent.size > 0) this.forgetLater();
    }, SAME_MS).unref();
  }
}

function referenceTo(type: ResourceType, { metadata }: KubeObject): ObjectReference {
  const { name, namespace, uid, resourceVersion } = metadata ?? {};
  return { apiVersion: apiVersionOf(type), kind: type.kind, name, namespace, uid, resourceVersion };
}

import { NAME_LENGTH } from "../api/kubernetes-names.js";
import { EventResource } from "./core-resources.js";
import type { KubeClient } from "./kube-client.js";
import { messageOf } from "./kube-error.js";
import type { Logger } from "./logger.js";
import { apiVersionOf, type KubeObject, type ResourceType } from "./resource-type.js";

/** Writes Kubernetes events on the objects that people look at. The same event within five minutes only raises its count. */
export class EventRecorder {
  private readonly recent = new Map<string, { name: string; namespace: string; count: number; at: number }>();

  constructor(
    private readonly client: KubeClient,
    private readonly component: string,
    private readonly logger: Logger,
  ) {}

  normal<T extends KubeObject>(type: ResourceType<T>, object: T, reason: string, message: string): void {
    void this.record(type, object, "Normal", reason, message);
  }

  warning<T extends KubeObject>(type: ResourceType<T>, object: T, reason: string, message: string): void {
    void this.record(type, object, "Warning", reason, message);
  }

  private async record(
    type: ResourceType,
    object: KubeObject,
    kind: "Normal" | "Warning",
    reason: string,
    message: string,
  ): Promise<void> {
    const { name = "", namespace = "default", uid, resourceVersion } = object.metadata ?? {};
    const key = [type.plural, namespace, name, uid, kind, reason, message].join("|");
    const now = Date.now();
    const timestamp = new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
    const present = this.recent.get(key);
    try {
      if (present && now - present.at < 300_000) {
        present.count += 1;
        present.at = now;
        await this.client.mergePatch(EventResource, present, { count: present.count, lastTimestamp: timestamp });
        return;
      }
      this.forgetOld(now);
      const suffix = `.${now.toString(16)}${Math.floor(Math.random() * 65_536).toString(16)}`;
      // The longest names leave no room for it.
      const eventName = name.slice(0, NAME_LENGTH - suffix.length).replace(/[-.]+$/, "") + suffix;
      this.recent.set(key, { name: eventName, namespace, count: 1, at: now });
      await this.client.create(EventResource, {
        metadata: { name: eventName, namespace },
        involvedObject: {
          apiVersion: apiVersionOf(type),
          kind: type.kind,
          name,
          namespace: object.metadata?.namespace,
          uid,
          resourceVersion,
        },
        type: kind,
        reason,
        message: message.slice(0, 1024),
        source: { component: this.component },
        reportingComponent: this.component,
        reportingInstance: this.component,
        firstTimestamp: timestamp,
        lastTimestamp: timestamp,
        count: 1,
      });
    } catch (error) {
      // An event is a courtesy: losing one must not fail the work it tells of.
      this.recent.delete(key);
      this.logger.debug({ reason: messageOf(error) }, "event not written");
    }
  }

  private forgetOld(now: number): void {
    for (const [key, { at }] of this.recent) if (now - at > 300_000) this.recent.delete(key);
  }
}

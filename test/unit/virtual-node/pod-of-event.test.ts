import { expect } from "chai";
import type { Event, Pod } from "kubernetes-types/core/v1";
import { ShadowPodResource } from "../../../agent/api/index.js";
import { podOfEvent } from "../../../agent/virtual-node/pods/pod-of-event.js";

const second = (seconds: number): string => new Date(seconds * 1000).toISOString();
const pod: Pod = { metadata: { name: "db-0", namespace: "shop", uid: "here" } };
const shadow = ShadowPodResource.build({
  metadata: { name: "db-0", uid: "shadow", creationTimestamp: second(10) },
  spec: {},
});
const remotePod: Pod = { metadata: { name: "db-0", uid: "there" } };
const event = (uid: string | undefined, at: number): Event => ({
  metadata: { name: "db-0.1", creationTimestamp: second(at) },
  involvedObject: { kind: "Pod", name: "db-0", uid },
});
const uidFor = (told: Event, present = { pod, shadow, remotePod }): string | undefined =>
  podOfEvent(told, present).metadata?.uid;

describe("the pod that an event of the provider is about", () => {
  it("is the present one where it names what the provider has of it now", () => {
    for (const uid of ["there", "shadow"]) expect(uidFor(event(uid, 9))).to.equal("here");
    expect(uidFor(event(undefined, 9))).to.equal("here");
  });

  it("is the present one, too, where the provider has made its pod anew since", () => {
    for (const at of [10, 11]) expect(uidFor(event("made before", at))).to.equal("here");
  });

  it("is none of the present where a former pod had that name", () => {
    const { metadata } = podOfEvent(event("former", 9), { pod, shadow, remotePod });
    expect(metadata).to.deep.equal({ name: "db-0", namespace: "shop" });
  });

  it("is the present one while nothing of it is at the provider", () => {
    expect(podOfEvent(event("former", 9), { pod }).metadata?.uid).to.equal("here");
  });
});

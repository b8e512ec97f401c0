import { expect } from "chai";
import type { ConfigMap } from "kubernetes-types/core/v1";
import { ConfigMapResource, Informer, type KubeClient } from "../../../agent/runtime/index.js";

const object = (resourceVersion: string): ConfigMap => ({
  metadata: { name: "a", namespace: "n", uid: "u", resourceVersion },
  data: { text: `of ${resourceVersion}` },
});
const withoutData = ({ metadata }: ConfigMap): ConfigMap => ({ metadata });

describe("Informer.shrink", () => {
  it("keeps less of what has been dealt with, tells nobody, and takes the next version whole", () => {
    const informer = new Informer({} as KubeClient, ConfigMapResource);
    const told: string[] = [];
    informer.onEvent(({ type }) => told.push(type));
    informer.observe(object("1"));
    informer.shrink(informer.get("n/a")!, withoutData);
    expect(informer.get("n/a")).to.deep.equal({ metadata: object("1").metadata });
    informer.observe(object("1"));
    expect(informer.get("n/a")?.data, "the same version again").to.equal(undefined);
    const second = object("2");
    informer.observe(second);
    informer.observe(object("3"));
    informer.shrink(second, withoutData);
    expect(informer.get("n/a")?.data, "what has changed meanwhile").to.deep.equal({ text: "of 3" });
    expect(told).to.deep.equal(["added", "updated", "updated"]);
  });
});

import { expect } from "chai";
import { Annotations, type NamespaceOffloading } from "../../../agent/api/index.js";
import { checkOffloading } from "../../../agent/controller/webhooks/namespace-offloading.js";
import { mayDeleteRemoteData } from "../../../agent/storage/remote-data.js";
import { offloadingManifest } from "../../../provider/resources/namespace-offloading/offload.js";
import { namespaceOffloadingInputs } from "../../../provider/resources/namespace-offloading/schema.js";
import {
  formerAnnotations,
  settingsOf,
  type Settings,
} from "../../../provider/resources/namespace-offloading/settings.js";

const ALL: Settings = {
  evictionAfterDisconnect: "30",
  evictionAfterUnschedulable: "never",
  deleteRemoteVolumes: true,
  apiServerSupport: "disabled",
};

const manifest = (settings: Settings): NamespaceOffloading =>
  offloadingManifest(namespaceOffloadingInputs.parse({ namespace: "shop", ...settings })) as NamespaceOffloading;

describe("the settings of a NamespaceOffloading", () => {
  it("are written as the agent takes them, and read back", () => {
    const written = manifest(ALL);
    expect(checkOffloading(written, "shop", "consumer").message).to.equal(undefined);
    expect(checkOffloading(written, "shop", "consumer").allowed).to.equal(true);
    expect(mayDeleteRemoteData(written)).to.equal(true);
    expect(mayDeleteRemoteData(manifest({ deleteRemoteVolumes: false }))).to.equal(false);
    expect(settingsOf(written.metadata.annotations)).to.deep.equal(ALL);
  });

  it("take the delays that the agent takes, and no others", () => {
    for (const delay of ["0", "300", "999999999", "never", "", "-1", "1.5", "1e3", "5m", "Never", "1000000000"]) {
      const annotations = { [Annotations.evictionAfterDisconnect]: delay };
      const offloading = { ...manifest({}), metadata: { name: "offloading", namespace: "shop", annotations } };
      const { allowed } = checkOffloading(offloading, "shop", "consumer");
      const { success } = namespaceOffloadingInputs.shape.evictionAfterDisconnect.safeParse(delay);
      expect(success, delay).to.equal(allowed);
    }
  });

  it("that no input names leave no annotation, and are others' to set", () => {
    expect(manifest({}).metadata).to.not.have.property("annotations");
    const live = manifest(ALL).metadata.annotations;
    expect(Object.values(settingsOf(live, {}))).to.deep.equal([undefined, undefined, undefined, undefined]);
    expect(formerAnnotations({}, {})).to.deep.equal([]);
  });

  it("that inputs have named and name no more are to go, those that have changed are not", () => {
    const before = { evictionAfterDisconnect: "30", deleteRemoteVolumes: true };
    expect(formerAnnotations({ evictionAfterDisconnect: "60" }, before)).to.deep.equal([
      Annotations.deleteRemoteVolumes,
    ]);
  });

  it("show as changed when their annotation has gone or says another thing; a missing agreement means none", () => {
    const live = { [Annotations.apiServerSupport]: "whatever", [Annotations.evictionAfterDisconnect]: "60" };
    expect(settingsOf(live, ALL)).to.deep.equal({
      evictionAfterDisconnect: "60",
      evictionAfterUnschedulable: undefined,
      deleteRemoteVolumes: false,
      apiServerSupport: undefined,
    });
    expect(settingsOf({}, { deleteRemoteVolumes: false }).deleteRemoteVolumes).to.equal(false);
  });
});

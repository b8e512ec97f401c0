import { expect } from "chai";
import {
  asksForVirtualNode,
  escapeUser,
  isCordoned,
  podNetworkName,
  remoteCertificateSecretName,
  remoteNetworkName,
  sliceUserName,
} from "../../../agent/api/index.js";

describe("names", () => {
  it("of slice users end with twelve digits of the consumer's ID", () => {
    expect(sliceUserName("provider", "consumer")).to.equal("provider-6bfbd709d5fd");
  });

  it("of users fit into a label", () => {
    expect(escapeUser("system:serviceaccount:ns:a@b.c")).to.equal("system-serviceaccount-ns-a-b.c");
  });

  it("hold ranges without dots and slashes", () => {
    expect(podNetworkName("10.0.0.0/16")).to.equal("pod-cidr-10-0-0-0-16");
    expect(remoteNetworkName("provider", "external", "10.70.0.0/16")).to.equal("provider-external-10-70-0-0-16");
  });

  it("of issued certificates tell control plane and slices apart", () => {
    expect(remoteCertificateSecretName()).to.equal("liqo-remote-certificate");
    expect(remoteCertificateSecretName("slice")).to.equal("liqo-remote-certificate-slice");
  });
});

describe("annotations", () => {
  it("ask for a virtual node unless empty or false", () => {
    const asks = (value: string) => asksForVirtualNode({ "liqo.io/create-virtual-node": value });
    expect(["true", "1", "yes", "", "false", "FALSE"].map(asks)).to.deep.equal([true, true, true, false, false, false]);
    expect(asksForVirtualNode(undefined)).to.equal(false);
  });

  it("cordon unless false", () => {
    const cordons = (value: string) => isCordoned({ "liqo.io/cordon-tenant": value });
    expect(["true", "", "false", "False", "0"].map(cordons)).to.deep.equal([true, true, false, false, false]);
    expect(isCordoned({ "liqo.io/cordon": "true" })).to.equal(true);
    expect(isCordoned({})).to.equal(false);
  });
});

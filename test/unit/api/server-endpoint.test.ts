import { expect } from "chai";
import { Annotations, announcedEndpoint, endpointAnnouncement, serverEndpointOf } from "../../../agent/api/index.js";

const GIVEN = { addresses: ["192.0.2.1", "192.0.2.2"], port: 30_742 };
const MOVED = { addresses: ["198.51.100.1", "server.example"], port: 30_743 };

describe("where a gateway server says that it is", () => {
  it("is taken without what is no address, and not at all without a port or an address", () => {
    const addresses = ["", "192.0.2.1", "a b", "-x", "$(reboot)", "x".repeat(300), 1];
    expect(serverEndpointOf({ addresses, port: 51_840 })).to.deep.equal({ addresses: ["192.0.2.1"], port: 51_840 });
    expect(serverEndpointOf({ addresses: [""], port: 51_840 })).to.equal(undefined);
    expect(serverEndpointOf({ addresses: ["192.0.2.1"], port: 0 })).to.equal(undefined);
    expect(serverEndpointOf({ addresses: "192.0.2.1", port: 1 })).to.equal(undefined);
    expect(serverEndpointOf(undefined)).to.equal(undefined);
  });

  it("is noted once it is where the client was told to look, and followed from then on", () => {
    const before = endpointAnnouncement(undefined, GIVEN, { ...GIVEN, addresses: ["192.0.2.9", "192.0.2.1"] });
    expect(announcedEndpoint(before, GIVEN)?.addresses).to.deep.equal(["192.0.2.9", "192.0.2.1"]);
    const after = endpointAnnouncement(before, GIVEN, MOVED);
    expect(announcedEndpoint(after, GIVEN)).to.deep.equal(MOVED);
    expect(endpointAnnouncement(after, GIVEN, MOVED), "nothing new").to.equal(undefined);
  });

  it("does not replace an address that was never the server's, nor one that the client was given since", () => {
    expect(endpointAnnouncement(undefined, GIVEN, MOVED)).to.equal(undefined);
    expect(endpointAnnouncement(undefined, GIVEN, { ...GIVEN, port: 1 })).to.equal(undefined);
    const of = (given: typeof GIVEN) => endpointAnnouncement(undefined, given, given);
    const wrong = { ...GIVEN, port: 30_999 };
    expect(announcedEndpoint(of(GIVEN), wrong)).to.equal(undefined);
    expect(endpointAnnouncement(of(GIVEN), wrong, MOVED)).to.equal(undefined);
  });

  it("is nothing where the annotation cannot be read", () => {
    for (const text of ["", "{", "1", "null", "[]", '{"given":"192.0.2.1:30742","addresses":[1],"port":1}'])
      expect(announcedEndpoint({ [Annotations.serverEndpoint]: text }, GIVEN), text).to.equal(undefined);
    expect(announcedEndpoint(undefined, GIVEN)).to.equal(undefined);
  });
});

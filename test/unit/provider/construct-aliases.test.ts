import aliases from "@pulumi/pulumi/proto/alias_pb.js";
import proto from "@pulumi/pulumi/proto/provider_pb.js";
import { expect } from "chai";
import protobuf from "google-protobuf";
import { aliasesOf, readConstructRequest } from "../../../provider/server/construct-aliases.js";

const URN = "urn:pulumi:s::p::liqo:index:Peering::before";

describe("a component's aliases", () => {
  /** A request as engines write it that say them as specifications. */
  function written(...said: aliases.Alias[]): Uint8Array {
    const writer = new protobuf.BinaryWriter();
    for (const alias of said) writer.writeBytes(29, alias.serializeBinary());
    const request = new proto.ConstructRequest();
    request.setName("after");
    return new Uint8Array([...request.serializeBinary(), ...writer.getResultBuffer()]);
  }

  it("are read as the engine says them: a URN, or what differs of it", () => {
    const named = new aliases.Alias.Spec();
    named.setName("before");
    named.setParenturn(URN);
    const moved = new aliases.Alias.Spec();
    moved.setNoparent(true);
    const said = [
      new aliases.Alias().setUrn(URN),
      new aliases.Alias().setSpec(named),
      new aliases.Alias().setSpec(moved),
    ];
    const request = readConstructRequest(written(...said));
    expect(request.getName()).to.equal("after");
    expect(aliasesOf(request)).to.deep.equal([URN, { name: "before", parent: URN }, { parent: undefined }]);
  });

  it("are those of the message itself with engines before that, or none", () => {
    const request = new proto.ConstructRequest();
    request.setAliasesList([URN]);
    expect(aliasesOf(readConstructRequest(request.serializeBinary()))).to.deep.equal([URN]);
    expect(aliasesOf(readConstructRequest(written()))).to.deep.equal([]);
  });
});

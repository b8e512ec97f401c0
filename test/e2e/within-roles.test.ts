import { expect } from "chai";
import { auditedClusters, auditFolder } from "../support/audit.js";
import { describeUse, lackingRights, readUses, unlistedUses, unusedRules, type Use } from "../support/role-use.js";

/** Clusters of the other files whose lives together use every rule. */
const NEEDED = ["app-consumer", "e2e-consumer", "gateway-a", "owners-b", "vnode-consumer"];

/** What all earlier files' clusters were asked for; the last file by its name. */
describe("what the agent, peers and peering users have asked for", function () {
  this.timeout(60_000);
  let uses: Use[];

  before(async function () {
    if (auditedClusters().length === 0) this.skip();
    uses = await readUses(auditFolder());
  });

  it("was nothing that their roles do not grant", () => {
    expect(lackingRights(uses).map(describeUse)).to.deep.equal([]);
    expect(unlistedUses(uses).map(describeUse)).to.deep.equal([]);
  });

  it("was everything that their roles grant, but for what says when alone it is used", function () {
    // After a choice of files there is nothing to be said of rules.
    if (!NEEDED.every((cluster) => auditedClusters().includes(cluster))) this.skip();
    expect(unusedRules(uses)).to.deep.equal([]);
  });
});

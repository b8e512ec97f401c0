import { readFileSync } from "node:fs";
import { expect } from "chai";
import { SECURITY_PAGE, withRoles } from "../../../scripts/roles.js";

describe("the page on security", () => {
  it("lists the rules of each role as the installation has them, each with its reason", () => {
    const page = readFileSync(SECURITY_PAGE, "utf8");
    expect(page, 'run "node scripts/run.mjs scripts/roles.ts"').to.equal(withRoles(page));
    const rules =
      page
        .split("\n## Roles\n")[1]
        ?.split("\n")
        .filter((line) => line.startsWith("- ")) ?? [];
    expect(rules.filter((rule) => !/^- [a-z, ]+: `.*\. [A-Z].*\.$/.test(rule))).to.deep.equal([]);
  });
});

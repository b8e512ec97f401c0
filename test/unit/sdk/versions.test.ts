import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { VERSION } from "../../../provider/version.js";
import { REPOSITORY } from "../../languages/toolchain.js";

/** The files that state the package's version for people or programs, and how. */
const STATED: readonly [file: string, pattern: RegExp][] = [
  ["provider/schema.json", /"version": "([^"]+)"/],
  ["sdk/nodejs/package.json", /"version": "([^"]+)"/],
  ["sdk/python/pyproject.toml", /^ {2}version = "([^"]+)"/m],
  ["sdk/go/liqo/pulumi-plugin.json", /"version": "([^"]+)"/],
  ["sdk/dotnet/pulumi-plugin.json", /"version": "([^"]+)"/],
  ["sdk/dotnet/version.txt", /(\S+)/],
  ["sdk/java/pom.xml", /<artifactId>liqo<\/artifactId>\s*<version>([^<]+)/],
  ["sdk/java/src/main/resources/com/pulumi/liqo/version.txt", /(\S+)/],
  ["examples/peer-two-clusters/package.json", /"pulumi-liqo": "\^([^"]+)"/],
  ["examples/peer-two-clusters-go/go.mod", /sdk\/go v(\S+)/],
  ["examples/peer-two-clusters-java/pom.xml", /<artifactId>liqo<\/artifactId>\s*<version>([^<]+)/],
];

/** The plugin is found by the version that an SDK states: all must state the one that is released. */
describe("versions of the SDKs", () => {
  for (const [file, pattern] of STATED) {
    it(`${file} states the package's`, () => {
      const text = readFileSync(path.join(REPOSITORY, file), "utf8");
      expect(pattern.exec(text)?.[1]).to.equal(VERSION);
    });
  }
});

import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { parse } from "yaml";
import {
  checkOwnKubeconfig,
  proxyOf,
  serverOf,
  throughProxy,
} from "../../../provider/resources/authentication/own-identity-kubeconfig.js";
import { kubeconfigOf } from "../../integration/provider-resources/support/own-kubeconfig.js";

const PROXY = "http://proxy.example.com:8118";

describe("the kubeconfig of an identity that the program brings along", () => {
  it("goes through a proxy unless it names one, and stays as it was otherwise", () => {
    const text = kubeconfigOf("t0k3n");
    expect(serverOf(text)).to.equal("https://east.example.com");
    expect(proxyOf(text)).to.equal(undefined);
    expect(throughProxy(text, undefined)).to.equal(text);
    const led = throughProxy(text, PROXY);
    expect(proxyOf(led)).to.equal(PROXY);
    expect((parse(led) as { users: object[] }).users).to.deep.equal((parse(text) as { users: object[] }).users);
    expect(throughProxy(led, "http://other:1")).to.equal(led);
  });

  it("is quoted in no error and in no warning", async () => {
    const warnings: string[] = [];
    const note = (warning: Error): number => warnings.push(warning.message);
    process.on("warning", note);
    try {
      for (const text of ["%s3cr3t", "!s3cr3t x", "a: [s3cr3t", "s3cr3t: *s3cr3t", "- s3cr3t"])
        expect(() => checkOwnKubeconfig(text), text).to.throw(/^(?!.*s3cr3t)/s);
      await setImmediate();
    } finally {
      process.off("warning", note);
    }
    expect(warnings).to.deep.equal([]);
  });
});

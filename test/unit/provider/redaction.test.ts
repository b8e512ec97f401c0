import { expect } from "chai";
import { Redaction } from "../../../provider/server/redaction.js";

const kubeconfig = (user: object, cluster: object = {}): string =>
  JSON.stringify({ clusters: [{ name: "a", cluster }], users: [{ name: "a", user }] });

describe("redaction", () => {
  it("takes every credential of a kubeconfig out of a text, wherever it stands", () => {
    const redaction = new Redaction();
    redaction.add(kubeconfig({ token: "distinctive-token", password: "distinctive-password" }));
    redaction.add(kubeconfig({ "client-key-data": "ZGlzdGluY3RpdmU=" }));
    const text = redaction.apply("refused: distinctive-token, distinctive-password, ZGlzdGluY3RpdmU=");
    expect(text).to.equal("refused: [secret], [secret], [secret]");
  });

  it("takes out passwords of proxies, short ones where they stand in a URL", () => {
    const redaction = new Redaction();
    redaction.add(kubeconfig({}, { "proxy-url": "http://user:distinctive-proxy@proxy:3128" }));
    redaction.add(kubeconfig({}, { "proxy-url": "http://user:pw@other:3128" }));
    expect(redaction.apply("no answer from http://user:distinctive-proxy@proxy:3128 (distinctive-proxy)")).to.equal(
      "no answer from http://user:[secret]@proxy:3128 ([secret])",
    );
    expect(redaction.apply("http://user:pw@other:3128 of pwd")).to.equal("http://user[secret]other:3128 of pwd");
  });

  it("leaves paths of kubeconfigs as they are", () => {
    const redaction = new Redaction();
    redaction.add("/home/user/.kube/config");
    expect(redaction.apply("cannot read /home/user/.kube/config")).to.contain("/home/user/.kube/config");
  });
});

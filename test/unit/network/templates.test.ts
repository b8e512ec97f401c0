import { expect } from "chai";
import { renderTemplate } from "../../../agent/controller/network/gateways/go-template.js";
import { renderObject } from "../../../agent/controller/network/gateways/render-object.js";

const data = {
  Name: "b",
  Namespace: "liqo-tenant-b",
  GatewayUID: "1234",
  Spec: { mtu: 1340, endpoint: { addresses: ["a.example", "10.0.0.1"], port: 51840, loadBalancerIP: "" } },
};

describe("Go templates of gateways", () => {
  const cases: [template: string, result: string][] = [
    ["gw-{{ .Name }}", "gw-b"],
    ["{{.Spec.MTU}}/{{ $.Name }}", "1340/b"],
    ["{{ index .Spec.Endpoint.Addresses 0 }}:{{ .Spec.Endpoint.Port }}", "a.example:51840"],
    ["{{ range .Spec.Endpoint.Addresses }}{{ . }},{{ end }}", "a.example,10.0.0.1,"],
    ["{{ range .Spec.Nothing }}x{{ else }}none{{ end }}", "none"],
    ['{{ if .Spec.Endpoint.LoadBalancerIP }}yes{{ else if eq .Name "b" }}b{{ else }}no{{ end }}', "b"],
    ["{{ if and .Name (not .Spec.Nothing) }}{{ len .Spec.Endpoint.Addresses }}{{ end }}", "2"],
    ["a {{- /* comment */ -}} b", "ab"],
    ["{{ with .Spec.Endpoint }}{{ .Port }}{{ end }}", "51840"],
    ["{{ .Spec.Missing.Deeper }}", ""],
  ];
  for (const [template, result] of cases) {
    it(template, () => expect(renderTemplate(template, data)).to.equal(result));
  }

  it("tells what it cannot do", () => {
    expect(() => renderTemplate("{{ printf .Name }}", data)).to.throw('unknown function "printf"');
    expect(() => renderTemplate("{{ if .Name }}x", data)).to.throw('"if" without "end"');
    expect(() => renderTemplate("{{ .Name", data)).to.throw('"{{" without "}}"');
  });

  it("makes integers of numeric results, but not where text is wanted", () => {
    const template = {
      port: "{{ .Spec.Endpoint.Port }}",
      labels: { mtu: "{{ .Spec.MTU }}" },
      env: [{ name: "MTU", value: "{{ .Spec.MTU }}" }],
      args: ["{{ .Spec.MTU }}", "--x={{ .Name }}"],
      keep: true,
    };
    expect(renderObject(template, data)).to.deep.equal({
      port: 51840,
      labels: { mtu: "1340" },
      env: [{ name: "MTU", value: "1340" }],
      args: ["1340", "--x=b"],
      keep: true,
    });
  });

  it("leaves optional keys out when they have no value", () => {
    const template = {
      "?nodePort": "{{ .Spec.Endpoint.NodePort }}",
      "?ip": "{{ .Spec.Endpoint.LoadBalancerIP }}",
      "?mtu": "{{ .Spec.MTU }}",
    };
    expect(renderObject(template, data)).to.deep.equal({ mtu: 1340 });
  });
});

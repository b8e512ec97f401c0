import { expect } from "chai";
import type { CustomResourceDefinition } from "kubernetes-types/apiextensions/v1";
import { crds } from "../../../agent/api/crd.js";

type Schema = Record<string, unknown>;

function crd(name: string): CustomResourceDefinition {
  const found = crds().find(({ metadata }) => metadata?.name === name);
  if (!found) throw new Error(`no CRD ${name}`);
  return found;
}

function root(definition: CustomResourceDefinition): Schema {
  return definition.spec.versions[0]?.schema?.openAPIV3Schema as Schema;
}

/** The schema of a field, by its path. */
function field(definition: CustomResourceDefinition, ...path: string[]): Schema {
  return path.reduce<Schema>((schema, name) => {
    if (name === "[]") return schema.items as Schema;
    return (schema.properties as Record<string, Schema>)[name] ?? {};
  }, root(definition));
}

/** Calls back for a schema and all below it. */
function walk(schema: Schema, path: string, visit: (schema: Schema, path: string) => void): void {
  visit(schema, path);
  for (const [name, child] of Object.entries((schema.properties ?? {}) as Record<string, Schema>)) {
    walk(child, `${path}.${name}`, visit);
  }
  if (schema.items) walk(schema.items as Schema, `${path}[]`, visit);
  if (typeof schema.additionalProperties === "object") walk(schema.additionalProperties as Schema, `${path}{}`, visit);
}

describe("CustomResourceDefinitions", () => {
  it("are there for every kind, under its published name and scope", () => {
    const groups = crds().map(({ spec }) => `${spec.names.plural}.${spec.group}/${spec.versions[0]?.name}`);
    expect(groups)
      .to.have.length(29)
      .and.include.members([
        "foreignclusters.core.liqo.io/v1beta1",
        "publickeies.networking.liqo.io/v1beta1",
        "ips.ipam.liqo.io/v1alpha1",
        "shadowpods.offloading.liqo.io/v1beta1",
        "renews.authentication.liqo.io/v1beta1",
      ]);
    expect(new Set(groups).size).to.equal(29);
    const clusterWide = crds().filter(({ spec }) => spec.scope === "Cluster");
    expect(clusterWide.map(({ spec }) => spec.names.kind)).to.have.members([
      "ForeignCluster",
      "InternalNode",
      "NamespaceOffloadingPolicy",
    ]);
    for (const { spec } of crds()) expect(spec.names.categories).to.deep.equal(["liqo"]);
  });

  it("do not share a short name", () => {
    const names = crds().flatMap(({ spec }) => [
      spec.names.plural,
      spec.names.singular,
      ...(spec.names.shortNames ?? []),
    ]);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).to.deep.equal([]);
  });

  it("have a status subresource exactly where there is a status", () => {
    for (const { metadata, spec } of crds()) {
      const hasStatus = "status" in (root({ metadata, spec }).properties as Schema);
      expect(spec.versions[0]?.subresources, metadata?.name).to.deep.equal(hasStatus ? { status: {} } : undefined);
    }
    const without = crds().filter(({ spec }) => !spec.versions[0]?.subresources);
    expect(without.map(({ spec }) => spec.names.kind)).to.have.members([
      "PublicKey",
      "WgGatewayServerTemplate",
      "WgGatewayClientTemplate",
      "InternalFabric",
      "GeneveTunnel",
      "Quota",
      "ShadowEndpointSlice",
      "VkOptionsTemplate",
    ]);
  });

  it("are structural: typed throughout, in the API server's dialect", () => {
    const foreign = [
      "$schema",
      "$ref",
      "const",
      "oneOf",
      "allOf",
      "not",
      "exclusiveMinimum",
      "exclusiveMaximum",
      "~standard",
    ];
    for (const definition of crds()) {
      walk(root(definition), definition.metadata?.name ?? "", (schema, path) => {
        const untyped = schema["x-kubernetes-int-or-string"] ?? schema["x-kubernetes-preserve-unknown-fields"];
        expect(schema.type !== undefined || untyped === true, `${path} has no type`).to.equal(true);
        expect(
          foreign.filter((key) => key in schema),
          path,
        ).to.deep.equal([]);
        expect(schema.additionalProperties, path).not.to.equal(false);
        expect(Boolean(schema.properties && schema.additionalProperties), `${path}: properties and others`).to.equal(
          false,
        );
        if (schema.type === "integer") expect(schema.format, path).to.be.oneOf(["int32", "int64"]);
      });
    }
  });

  it("say what zod cannot: formats, defaults, rules", () => {
    const tenants = crd("tenants.authentication.liqo.io");
    expect(field(tenants, "spec", "clusterID")).to.deep.equal({
      type: "string",
      pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
      "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "ClusterID is immutable" }],
    });
    expect(field(tenants, "spec", "publicKey")).to.deep.equal({ type: "string", format: "byte" });
    expect(field(tenants, "spec", "tenantCondition")).to.deep.equal({
      type: "string",
      enum: ["Active", "Cordoned", "Drained"],
      default: "Active",
    });
    expect(field(tenants, "spec").default).to.deep.equal({});
    const slices = crd("resourceslices.authentication.liqo.io");
    const resources = field(slices, "spec", "resources").additionalProperties as Schema;
    expect(resources["x-kubernetes-int-or-string"]).to.equal(true);
    expect(resources.anyOf).to.deep.equal([{ type: "integer" }, { type: "string" }]);
    expect(field(slices, "spec", "consumerClusterID")).not.to.have.property("x-kubernetes-validations");
    const configurations = crd("configurations.networking.liqo.io");
    expect(field(configurations, "spec", "remote", "cidr", "pod")).to.deep.equal({
      "x-kubernetes-preserve-unknown-fields": true,
    });
    expect(root(crd("namespaceoffloadings.offloading.liqo.io")).required).to.deep.equal(["spec"]);
    expect(field(crd("networks.ipam.liqo.io"), "spec", "preAllocated").minimum).to.equal(0);
    expect(
      field(crd("firewallconfigurations.networking.liqo.io"), "spec", "table", "chains", "[]", "rules").maxProperties,
    ).to.equal(1);
  });

  it("show their columns, the wide ones by priority", () => {
    const columns = (name: string): string[] =>
      (crd(name).spec.versions[0]?.additionalPrinterColumns ?? []).map((item) =>
        item.priority ? `(${item.name})` : item.name,
      );
    expect(columns("foreignclusters.core.liqo.io")).to.deep.equal(["ROLE", "(CLUSTERID)", "AGE"]);
    expect(columns("ips.ipam.liqo.io")).to.deep.equal(["LOCAL IP", "REMAPPED IP", "REMAPPED IP CIDR", "AGE"]);
    expect(columns("quotas.offloading.liqo.io")).to.deep.equal(["ENFORCEMENT", "CORDONED", "AGE", "(USER)"]);
    expect(columns("publickeies.networking.liqo.io")).to.deep.equal([]);
  });

  it("mark the gateway templates as such", () => {
    const marked = crds().filter(({ metadata }) => metadata?.labels?.["networking.liqo.io/gatewaytemplate"] === "true");
    expect(marked.map(({ spec }) => spec.names.kind)).to.have.members([
      "WgGatewayServerTemplate",
      "WgGatewayClientTemplate",
    ]);
  });
});

import { expect } from "chai";
import { packageSchema } from "../../../provider/schema/package-schema.js";
import { registry } from "../../../provider/resources/index.js";

interface Property {
  description?: string;
  $ref?: string;
  secret?: boolean;
}
interface Schema {
  types: Record<string, { properties?: Record<string, Property> }>;
  resources: Record<string, { inputProperties: Record<string, Property>; properties: Record<string, Property> }>;
  functions: Record<string, unknown>;
}

const schema = packageSchema(registry, "1.2.3") as unknown as Schema;

describe("the package schema", () => {
  it("has every resource, component and function", () => {
    expect(Object.keys(schema.resources)).to.include.members([
      "liqo:index:Agent",
      "liqo:index:Peering",
      "liqo:index:NetworkLink",
    ]);
    expect(Object.keys(schema.functions)).to.have.members([
      "liqo:index:getClusterInfo",
      "liqo:index:getPeeringInfo",
      "liqo:index:getTopology",
      "liqo:index:renderManifests",
    ]);
  });

  it("describes every property", () => {
    const undescribed: string[] = [];
    const look = (where: string, properties: Record<string, Property> = {}) => {
      for (const [name, property] of Object.entries(properties))
        if (!property.description) undescribed.push(`${where}.${name}`);
    };
    for (const [token, resource] of Object.entries(schema.resources)) {
      look(token, resource.inputProperties);
      look(token, resource.properties);
    }
    for (const [token, type] of Object.entries(schema.types)) look(token, type.properties);
    expect(undescribed).to.deep.equal([]);
  });

  it("refers only to types that it has, and keeps kubeconfigs secret", () => {
    const references = [...JSON.stringify(schema).matchAll(/"#\/types\/([^"]+)"/g)].map((match) => match[1]);
    for (const reference of references) expect(Object.keys(schema.types)).to.include(reference);
    expect(schema.types["liqo:index:Cluster"]?.properties?.["kubeconfig"]?.secret).to.equal(true);
  });
});

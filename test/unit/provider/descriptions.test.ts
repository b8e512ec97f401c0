import { expect } from "chai";
import { packageSchema } from "../../../provider/schema/package-schema.js";
import { registry } from "../../../provider/resources/index.js";

interface Property {
  type?: string;
  description?: string;
  $ref?: string;
  items?: Property;
  additionalProperties?: Property;
}
interface Members {
  properties?: Record<string, Property>;
  required?: string[];
}
interface Schema {
  types: Record<string, Members>;
  resources: Record<string, { inputProperties: Record<string, Property>; requiredInputs?: string[] }>;
  functions: Record<string, { inputs: Members }>;
  provider: { inputProperties: Record<string, Property> };
}

/** An input wherever it lies: "NetworkLink gatewayServer.port". */
interface Input {
  where: string;
  property: Property;
  isRequired: boolean;
}

const schema = packageSchema(registry, "1.2.3") as unknown as Schema;

/** How descriptions say what holds where an input is not given. */
const TELLS_DEFAULT = /\bDefault: |\bLeft out, /;
/** What a number counts. */
const TELLS_UNIT = /\b(seconds|bytes|port|replicas|from 1 to 100)\b/i;

describe("descriptions of inputs", () => {
  const inputs = allInputs();

  it("say what holds where one is not given, of each that may be left out", () => {
    const silent = inputs
      .filter(({ property, isRequired }) => !isRequired && !TELLS_DEFAULT.test(property.description ?? ""))
      .map(({ where, property }) => `${where}: ${property.description}`);
    expect(silent.join("\n")).to.equal("");
  });

  it("name the unit of each number", () => {
    const numbers = inputs.filter(({ property }) => property.type === "integer" || property.type === "number");
    expect(numbers).to.not.deep.equal([]);
    const bare = numbers
      .filter(({ property }) => !TELLS_UNIT.test(property.description ?? ""))
      .map(({ where, property }) => `${where}: ${property.description}`);
    expect(bare.join("\n")).to.equal("");
  });

  it("name the form of each amount and each duration that is a text", () => {
    const texts = inputs.filter(
      ({ where, property }) =>
        property.type === "string" && /(\.| )(cpu|memory|pods|evictionAfter\w+|\w*Seconds)$/.test(where),
    );
    expect(texts).to.not.deep.equal([]);
    const bare = texts
      .filter(({ property }) => !/Kubernetes quantity|Seconds, as "30"/.test(property.description ?? ""))
      .map(({ where, property }) => `${where}: ${property.description}`);
    expect(bare.join("\n")).to.equal("");
  });
});

/** Of resources, components, functions and the provider, down to the leaves. */
function allInputs(): Input[] {
  const named: [string, Members][] = [
    ...Object.entries(schema.resources).map(([token, { inputProperties, requiredInputs }]): [string, Members] => [
      token,
      { properties: inputProperties, required: requiredInputs },
    ]),
    ...Object.entries(schema.functions).map(([token, one]): [string, Members] => [token, one.inputs]),
    ["liqo:index:Provider", { properties: schema.provider.inputProperties }],
  ];
  return named.flatMap(([token, members]) => inputsOf(members, `${token.split(":").at(-1)} `));
}

function inputsOf({ properties = {}, required = [] }: Members, before: string): Input[] {
  return Object.entries(properties).flatMap(([name, property]) => {
    const where = `${before}${name}`;
    const inner = property.items ?? property.additionalProperties ?? property;
    const type = schema.types[inner.$ref?.replace("#/types/", "") ?? ""];
    return [{ where, property, isRequired: required.includes(name) }, ...(type ? inputsOf(type, `${where}.`) : [])];
  });
}

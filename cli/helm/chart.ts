import { crds } from "../../agent/api/crd.js";
import { agentManifests, describeManifest, uninstallGuardManifests } from "../../agent/install/index.js";
import type { KubeObject } from "../../agent/runtime/index.js";
import { yamlOf } from "../../provider/functions/rendering/manifest.js";
import { installInputs } from "../../provider/resources/agent/install-inputs.js";
import type { AgentInputs } from "../../provider/resources/agent/schema.js";
import { VERSION } from "../../provider/version.js";
import { conditionalText, markDifferences, type ConditionalLine } from "./alternatives.js";
import { escapeBraces, withExpressions } from "./expressions.js";
import { chartFile, notesFile, valuesFile, HELPERS } from "./files.js";
import { chartValues, conditionOf, emptied, tokenInputs, tokenOf, withoutValue, type ChartValue } from "./values.js";

/**
 * The agent as a Helm chart: files by their path. Made from the manifests themselves: they are rendered with tokens in the place of values, and once more
 * without each value in turn; what then differs is what the value brings.
 */
export function helmChart(): Map<string, string> {
  const values = chartValues();
  const all = documents(tokenInputs());
  const files = new Map<string, string>([
    ["Chart.yaml", chartFile(VERSION)],
    ["values.yaml", valuesFile(values)],
    ["templates/_helpers.tpl", HELPERS],
    ["templates/NOTES.txt", notesFile()],
  ]);
  for (const crd of crds()) files.set(`crds/${crd.metadata?.name ?? ""}.yaml`, yamlOf([withoutUndefined(crd)]));
  const alternatives = values.flatMap((value) => alternativeOf(value));
  for (const [name, object] of all) {
    files.set(`templates/${fileName(object)}`, templateOf(name, object, alternatives, values));
  }
  return files;
}

interface Alternative {
  value: ChartValue;
  documents: Map<string, KubeObject>;
}

function alternativeOf(value: ChartValue): Alternative[] {
  const inputs = withoutValue(value);
  return inputs ? [{ value, documents: documents(inputs) }] : [];
}

/** Everything but what Helm brings itself: the release's namespace, and CRDs, which have a folder of their own. And the hooks, which it alone has. */
function documents(inputs: AgentInputs): Map<string, KubeObject> {
  const { podCIDRs = [], serviceCIDR = "", apiServerAddress = "" } = inputs;
  const installation = installInputs(inputs, { podCIDRs, serviceCIDR, apiServerAddress });
  const objects = [...agentManifests(installation), ...uninstallGuardManifests(installation)];
  const isOfHelm = ({ kind, metadata }: KubeObject): boolean =>
    kind === "CustomResourceDefinition" || (kind === "Namespace" && metadata?.name === inputs.namespace);
  const own = objects.filter((object) => !isOfHelm(object)).map(withPolicy);
  return new Map(own.map((object) => [describeManifest(object), withoutUndefined(object)]));
}

/** A namespace stays when the release goes: users' data would go with it. */
function withPolicy(object: KubeObject): KubeObject {
  if (object.kind !== "Namespace") return object;
  const annotations = { ...object.metadata?.annotations, "helm.sh/resource-policy": "keep" };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

function withoutUndefined<T>(object: T): T {
  return JSON.parse(JSON.stringify(object)) as T;
}

function fileName({ kind = "", metadata }: KubeObject): string {
  const name = (metadata?.name ?? "").replaceAll(/value--(\w+)--/g, "$1");
  return `${kind.toLowerCase()}-${name}.yaml`;
}

function templateOf(
  name: string,
  object: KubeObject,
  alternatives: readonly Alternative[],
  values: readonly ChartValue[],
): string {
  const needed: string[] = [];
  let lines: ConditionalLine[] = linesOf(object).map((text) => ({ text, conditions: [] }));
  for (const { value, documents: other } of alternatives) {
    const without = other.get(name);
    if (!without) needed.push(conditionOf(value));
    else lines = markDifferences(lines, linesOf(without), conditionOf(value), (line) => emptied(line, value));
  }
  const filled = lines.map(({ text, conditions }) => ({
    text: withExpressions(escapeBraces(text), values),
    conditions,
  }));
  return wrap(repeated(conditionalText(filled), object), needed);
}

function linesOf(object: KubeObject): string[] {
  return yamlOf([object]).trimEnd().split("\n");
}

/** A document of which there is one for each element of a list: Networks (network specification, §2). */
function repeated(text: string, object: KubeObject): string {
  const name = object.metadata?.name ?? "";
  const cidr = (object as { spec?: { cidr?: string } }).spec?.cidr;
  if (object.kind !== "Network" || !cidr) return text;
  const list = ["podCIDRs", "reservedSubnets"].find((one) => cidr === tokenOf(one));
  if (list === undefined) return text;
  const part = '{{ . | replace "." "-" | replace "/" "-" }}';
  const names =
    list === "podCIDRs"
      ? `${name}{{ if gt (len $.Values.podCIDRs) 1 }}-${part}{{ end }}`
      : name.replace(tokenOf(list), part);
  const body = text
    .replace(/^( {2}name: ).*$/m, `$1${names}`)
    .replace(/^( {2}cidr: ).*$/m, "$1{{ . | quote }}")
    .replace(/\{\{- (if|end)[^}]*reservedSubnets[^}]*\}\}\n/g, "");
  return `{{- range ${list === "podCIDRs" ? 'required "podCIDRs: is needed" ' : ""}$.Values.${list} }}\n---\n${body}{{- end }}\n`;
}

function wrap(text: string, conditions: readonly string[]): string {
  return conditions.reduce((inner, condition) => `{{- if ${condition} }}\n${inner}{{- end }}\n`, text);
}

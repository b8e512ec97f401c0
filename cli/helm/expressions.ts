import { REQUIRED_VALUES, numberTokenOf, tokenOf, type ChartValue } from "./values.js";

/** A manifest's braces are text to Helm: gateway templates are Go templates themselves. */
export function escapeBraces(text: string): string {
  return text.replaceAll("{{", '{{ "{{" }}');
}

/** Puts expressions in the place of a line's tokens. */
export function withExpressions(line: string, values: readonly ChartValue[]): string {
  const namespaced = line.replaceAll(tokenOf("namespace"), "{{ $.Release.Namespace }}");
  return values.reduce(replaceToken, namespaced);
}

function replaceToken(line: string, value: ChartValue): string {
  const { name, kind } = value;
  if (kind === "number") return line.replaceAll(String(numberTokenOf(name)), `{{ int $.Values.${name} }}`);
  const token = tokenOf(name);
  if (!line.includes(token)) return line;
  switch (kind) {
    case "text":
      return inText(line, token, referenceTo(name));
    case "list":
      return inList(line, token, name);
    case "map":
      return inMap(line, token, name);
    case "boolean":
      return line;
  }
}

function referenceTo(name: string): string {
  const required: readonly string[] = REQUIRED_VALUES;
  return required.includes(name) ? `required "${name}: is needed" $.Values.${name}` : `$.Values.${name}`;
}

/** A scalar that is nothing but the value is quoted by Helm, a longer one here. */
function inText(line: string, token: string, expression: string): string {
  const [, head = "", scalar = ""] = /^(\s*(?:- )*(?:[^\s:]+: )?)(.*)$/.exec(line) ?? [];
  const bare = scalar.replace(/^(["'])(.*)\1$/, "$2");
  if (bare === token) return `${head}{{ ${expression} | quote }}`;
  return `${head}"${bare.replaceAll(token, `{{ ${expression} }}`)}"`;
}

/** An element of its own is repeated, one in a longer text is joined by commas. */
function inList(line: string, token: string, name: string): string {
  const [, head] = new RegExp(`^(\\s*- (?:[^\\s:]+: )?)${token}$`).exec(line) ?? [];
  if (head === undefined) return inText(line, token, `join "," $.Values.${name}`);
  return `{{- range $.Values.${name} }}\n${head}{{ . | quote }}\n{{- end }}`;
}

/** A map of its own keeps the place of its token; in a longer text its pairs are joined by commas. */
function inMap(line: string, token: string, name: string): string {
  const [, spaces] = new RegExp(`^(\\s*)${token}: ${token}$`).exec(line) ?? [];
  if (spaces === undefined) return inText(line, `${token}=${token}`, `include "liqo.pairs" $.Values.${name}`);
  return `{{- toYaml $.Values.${name} | nindent ${spaces.length} }}`;
}

import { stringify } from "yaml";
import { REQUIRED_VALUES, type ChartValue } from "./values.js";

/** @param version of the package, the agent and the chart alike */
export function chartFile(version: string): string {
  return stringify({
    apiVersion: "v2",
    name: "liqo-agent",
    description:
      "The agent that joins this cluster with others: network, tenancy and virtual nodes. Compatible with Liqo 1.x.",
    type: "application",
    version,
    appVersion: version,
    kubeVersion: ">=1.28.0-0",
  });
}

/** The values with their descriptions, those that must be given first. */
export function valuesFile(values: readonly ChartValue[]): string {
  const required: readonly string[] = REQUIRED_VALUES;
  const sorted = [...values].sort((a, b) => Number(required.includes(b.name)) - Number(required.includes(a.name)));
  const entries = sorted.map(({ name, kind, description, fallback }) => {
    const isRequired = required.includes(name);
    const text = isRequired
      ? `Must be given. ${description.replace(/ Default: read from the cluster.*$/s, "")}`
      : description;
    const empty = { text: "", number: 1, boolean: false, list: [], map: {} }[kind];
    return `${comment(text)}\n${stringify({ [name]: fallback ?? empty })}`;
  });
  return `# Values of the agent's chart: the properties of the Pulumi resource Agent. The namespace is the release's.\n\n${entries.join("\n")}`;
}

const WIDTH = 116;

function comment(text: string): string {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1) ?? "";
    if (last.length + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines.map((line) => `# ${line}`).join("\n");
}

/** Named templates. */
export const HELPERS = `{{/* The pairs of a map as "key=value", by commas. */}}
{{- define "liqo.pairs" -}}
{{- $pairs := list -}}
{{- range $key, $value := . -}}
{{- $pairs = append $pairs (printf "%s=%s" $key (toString $value)) -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end -}}
`;

export function notesFile(): string {
  return `The agent of cluster {{ .Values.clusterId }} is being started in namespace {{ .Release.Namespace }}.

    kubectl get pods -n {{ .Release.Namespace }}

Gateways and the fabric change the network of nodes. Where pod security is enforced, the namespace must allow that:

    kubectl label namespace {{ .Release.Namespace }} pod-security.kubernetes.io/enforce=privileged

Before the release is uninstalled, end the peerings: what they consist of would stay behind in both clusters. "helm uninstall" refuses while there are any.

    kubectl get foreignclusters
    kubectl logs -n {{ .Release.Namespace }} job/liqo-uninstall-guard
`;
}

import type { ClusterArgs } from "../framework/index.js";

export interface ImportedPair {
  /** The ID without contexts. */
  id: string;
  consumer: ClusterArgs;
  provider: ClusterArgs;
}

/**
 * Reads the ID given to `pulumi import`: `<ID>@<consumer context>,<provider context>`, contexts of the provider's kubeconfig (or KUBECONFIG). Both
 * are needed, as one context cannot be two clusters.
 */
export function readPairImport(text: string): ImportedPair {
  const { id, contexts } = splitImport(text);
  const [consumer, provider] = contexts;
  if (!consumer || !provider || contexts.length !== 2) {
    throw new Error(
      `cannot import "${text}": write ${id}@<consumer context>,<provider context>, with contexts of the provider's kubeconfig or KUBECONFIG`,
    );
  }
  return { id, consumer: { context: consumer }, provider: { context: provider } };
}

/** The same for resources of one cluster: `<ID>` or `<ID>@<context>`. */
export function readSingleImport(text: string): { id: string; cluster: ClusterArgs | undefined } {
  const { id, contexts } = splitImport(text);
  return { id, cluster: contexts[0] ? { context: contexts[0] } : undefined };
}

function splitImport(text: string): { id: string; contexts: string[] } {
  // IDs hold no "@", contexts may.
  const at = text.indexOf("@");
  if (at < 0) return { id: text, contexts: [] };
  return { id: text.slice(0, at), contexts: text.slice(at + 1).split(",") };
}

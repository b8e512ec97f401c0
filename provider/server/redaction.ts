import { valueAt, type PropertyPath } from "../framework/property-path.js";

/** Shorter texts are no secrets worth the name, and would blank out half of every message. */
const SHORTEST = 8;
const REPLACEMENT = "[secret]";

/** Collects the secrets of a call and takes them out of any text on its way out: the last line of defence, messages must not hold them at all. */
export class Redaction {
  private readonly secrets = new Set<string>();

  addAt(value: unknown, paths: Iterable<PropertyPath>): void {
    for (const path of paths) this.add(valueAt(value, path));
  }

  add(value: unknown): void {
    if (typeof value === "string") this.addText(value);
    else if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) this.add(inner);
  }

  readonly apply = (text: string): string => {
    let result = text;
    for (const secret of this.secrets) if (result.includes(secret)) result = result.replaceAll(secret, REPLACEMENT);
    return result;
  };

  /** The text itself; and of texts with several lines (kubeconfigs, keys) each credential in them. */
  private addText(text: string): void {
    // A path of a kubeconfig is no secret, and messages must name it.
    if (text.length < SHORTEST || (!text.includes("\n") && /^(~|\.{0,2}\/)/.test(text))) return;
    this.secrets.add(text);
    // A proxy's password, in a URL; a short one is hidden where it stands there only.
    for (const [, password = ""] of text.matchAll(/:\/\/[^\s/:@]*:([^\s/@]+)@/g))
      this.secrets.add(password.length < SHORTEST ? `:${password}@` : password);
    if (!text.includes("\n") && !text.includes("{")) return;
    for (const match of text.matchAll(
      /(?:client-key-data|client-certificate-data|token|password|id-token|refresh-token|secret)"?\s*:\s*"?([^\s"',}]+)/gi,
    )) {
      if (match[1] && match[1].length >= SHORTEST) this.secrets.add(match[1]);
    }
  }
}

const BLOCK = /^-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\r\n]*?)\r?\n?-----END \1-----[ \t]*(?:\r?\n|$)/;

/** Writes a PEM block: lines of 64 characters, a newline at the end. */
export function encodePem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

/**
 * Reads text that is one PEM block of this label and nothing else.
 *
 * @throws Error telling what is wrong with it
 */
export function decodePem(label: string, text: string): Buffer {
  const match = BLOCK.exec(text);
  if (!match) throw new Error("not a PEM block");
  if (match[1] !== label) throw new Error(`a PEM block of "${match[1]}" where "${label}" is needed`);
  if (match[0].length !== text.length) throw new Error("something follows the PEM block");
  const text64 = (match[2] ?? "").replace(/[\r\n]/g, "");
  const der = Buffer.from(text64, "base64");
  // Node skips what is no base64; a peer's parser would not.
  if (der.toString("base64") !== text64) throw new Error("the PEM block's content is not base64");
  return der;
}

/** The ID of a slice: "consumer-id/provider-id/name". */
export function sliceId(pair: string, name: string): string {
  return `${pair}/${name}`;
}

/** @throws Error when the text is no such ID */
export function splitSliceId(id: string): { pair: string; name: string } {
  const [consumer, provider, name, ...rest] = id.split("/");
  if (!consumer || !provider || !name || rest.length > 0) {
    throw new Error(`"${id}" is not an ID of the form <consumer cluster ID>/<provider cluster ID>/<name>`);
  }
  return { pair: `${consumer}/${provider}`, name };
}

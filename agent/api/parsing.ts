/** Writes a property path as a user does: `spec.endpoint.addresses[0]`, `spec.resources["nvidia.com/gpu"]`. */
export function prettyPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => text + pathPart(part, text === ""), "") || "(the object)";
}

function pathPart(part: PropertyKey, isFirst: boolean): string {
  if (typeof part === "number") return `[${part}]`;
  const name = String(part);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return `[${JSON.stringify(name)}]`;
  return isFirst ? name : `.${name}`;
}

/**
 * Drops properties that are null, as the API server does for fields that are not nullable. Manifests written by Go
 * programs carry `creationTimestamp: null`.
 */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => [name, withoutNulls(member)]),
  );
}

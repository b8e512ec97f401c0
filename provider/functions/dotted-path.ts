/**
 * The value at a dotted path such as "local.clusterID"; names match without regard to case, list elements by index.
 *
 * @throws Error naming what is there instead
 */
export function valueAtDottedPath(value: unknown, path: string): unknown {
  let current = value;
  const parts = path.split(".").filter((part) => part !== "");
  for (const [index, part] of parts.entries()) {
    const names = typeof current === "object" && current !== null ? Object.keys(current) : [];
    const name = names.find((one) => one === part) ?? names.find((one) => one.toLowerCase() === part.toLowerCase());
    if (name === undefined) {
      const where = index === 0 ? "at the top" : `in ${parts.slice(0, index).join(".")}`;
      throw new Error(`get: there is no "${part}" ${where}; there is ${names.join(", ") || "nothing"}`);
    }
    current = (current as Record<string, unknown>)[name];
  }
  return current;
}

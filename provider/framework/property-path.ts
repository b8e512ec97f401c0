/** Where a property is: ["resources", "cpu"]. */
export type PropertyPath = readonly (string | number)[];

const SIMPLE = /^[A-Za-z_$][\w$]*$/;

/** As Pulumi writes paths: `consumer.kubeconfig`, `podCIDRs[0]`; keys of maps that are no plain names are quoted: `labels["liqo.io/x"]`. */
export function formatPath(path: PropertyPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    if (!SIMPLE.test(part)) return `${text}[${JSON.stringify(part)}]`;
    return text === "" ? part : `${text}.${part}`;
  }, "");
}

/** Reads what formatPath writes. A bare word is a top-level property. */
export function parsePath(text: string): PropertyPath {
  const parts: (string | number)[] = [];
  for (const match of text.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g)) {
    if (match[1] !== undefined) parts.push(Number(match[1]));
    else parts.push(match[2] !== undefined ? (JSON.parse(match[2]) as string) : (match[3] ?? ""));
  }
  return parts;
}

/** The value there, or undefined. */
export function valueAt(value: unknown, path: PropertyPath): unknown {
  return path.reduce<unknown>(
    (inner, part) =>
      typeof inner === "object" && inner !== null ? (inner as Record<string | number, unknown>)[part] : undefined,
    value,
  );
}

/** Whether `path` is `prefix` or lies below it; "*" in the prefix stands for any one part. */
export function startsWith(path: PropertyPath, prefix: PropertyPath): boolean {
  return prefix.length <= path.length && prefix.every((part, index) => part === "*" || part === path[index]);
}

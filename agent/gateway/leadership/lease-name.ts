/** The Lease of the replica that serves, as Liqo names it (network specification, §5.2). */
export function leaseName({
  name,
  namespace,
  mode,
}: {
  name: string;
  namespace: string;
  mode: "server" | "client";
}): string {
  return `${name}.${namespace}.${mode}.connections.liqo.io`;
}

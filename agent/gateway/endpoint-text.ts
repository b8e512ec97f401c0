/** An endpoint as WireGuard writes it, `address:port`; an IPv6 address is in brackets there, and none here. */
export function splitEndpoint(endpoint: string): { address: string; port: number } {
  const separator = endpoint.lastIndexOf(":");
  const address = endpoint.slice(0, separator).replace(/^\[(.*)\]$/, "$1");
  return { address, port: Number(endpoint.slice(separator + 1)) };
}

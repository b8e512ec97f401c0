/** Host and port, as a CONNECT request names them. */
export interface Authority {
  /** A name in lower case, an IPv4 address, or an IPv6 address without brackets. */
  host: string;
  port: number;
}

const AUTHORITY = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)):([0-9]{1,5})$/i;

/** Reads "host:port" in its plain form only; undefined for anything else, such as user names or encoded characters. */
export function parseAuthority(text: string): Authority | undefined {
  const [, bracketed, plain, digits] = AUTHORITY.exec(text) ?? [];
  const host = (bracketed ?? plain)?.toLowerCase();
  const port = Number(digits);
  return host && port > 0 && port <= 65_535 ? { host, port } : undefined;
}

export function formatAuthority({ host, port }: Authority): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

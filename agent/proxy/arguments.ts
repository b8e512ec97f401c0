import { parseArgs } from "node:util";
import { Ports } from "../api/names.js";
import { parseAuthority, type Authority } from "./authority.js";

export interface ProxyArguments {
  /** TCP port listened on. */
  port: number;
  /** This cluster's API server: the only thing ever dialled. */
  apiServer: Authority;
  /** What consumers are told to ask for, if it was configured. */
  publicAddress?: Authority;
}

/** Reads the proxy's command line. @throws Error naming the argument that is not valid */
export function parseProxyArguments(argv: string[], env: NodeJS.ProcessEnv = process.env): ProxyArguments {
  const { values } = parseArgs({
    args: argv,
    options: {
      port: { type: "string", default: String(Ports.apiServerProxy) },
      "api-server": { type: "string", default: inClusterAddress(env) },
      "public-address": { type: "string", default: "" },
    },
  });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`--port: "${values.port}" is no port`);
  const apiServer = parseAuthority(values["api-server"]);
  if (!apiServer) throw new Error(`--api-server: "${values["api-server"]}" is not of the form host:port`);
  const publicAddress = values["public-address"] === "" ? undefined : publicAuthority(values["public-address"]);
  return { port, apiServer, ...(publicAddress ? { publicAddress } : {}) };
}

/** The API server's own Service, as every pod is told of it: no name has to be resolved. */
function inClusterAddress(env: NodeJS.ProcessEnv): string {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) return "kubernetes.default.svc:443";
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A URL, or a host with or without a port, as the installation takes it. */
function publicAuthority(text: string): Authority {
  const url = /^https?:\/\//.test(text) ? text : `https://${text}`;
  if (!URL.canParse(url)) throw new Error(`--public-address: "${text}" is neither a URL nor host[:port]`);
  const { hostname, port, protocol } = new URL(url);
  return {
    host: hostname.replace(/^\[|\]$/g, "").toLowerCase(),
    port: Number(port) || (protocol === "http:" ? 80 : 443),
  };
}

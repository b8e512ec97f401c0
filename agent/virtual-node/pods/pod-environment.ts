import type { Container, EnvVar, EphemeralContainer, HostAlias } from "kubernetes-types/core/v1";
import { ROOT_CA } from "../reflection/root-ca.js";

const API_SERVER_HOST = "kubernetes.default";

/** How remote pods reach the consumer's API server. */
export interface ApiServerEndpoint {
  /** As the consumer offers them; the provider remaps them. */
  addresses: string[];
  port: number;
}

/** The variables that lead client libraries to the consumer's API server; last in the list, so that they win. */
export function apiServerVariables(port: number): EnvVar[] {
  const url = `tcp://${API_SERVER_HOST}:${port}`;
  const prefix = `KUBERNETES_PORT_${port}_TCP`;
  return Object.entries({
    KUBERNETES_SERVICE_HOST: API_SERVER_HOST,
    KUBERNETES_SERVICE_PORT: String(port),
    KUBERNETES_SERVICE_PORT_HTTPS: String(port),
    KUBERNETES_PORT: url,
    [prefix]: url,
    [`${prefix}_PROTO`]: "tcp",
    [`${prefix}_ADDR`]: API_SERVER_HOST,
    [`${prefix}_PORT`]: String(port),
  }).map(([name, value]) => ({ name, value }));
}

/** The name that the server's certificate has, at the addresses by which it can be reached. */
export function apiServerAliases({ addresses }: ApiServerEndpoint): HostAlias[] {
  return addresses.map((ip) => ({ ip, hostnames: [API_SERVER_HOST, `${API_SERVER_HOST}.svc`] }));
}

/** A container as the remote pod gets it. */
export function remoteContainer<C extends Container | EphemeralContainer>(
  container: C,
  options: { serviceAccountName: string; rootCaName: string; apiServer?: ApiServerEndpoint },
): C {
  const env = [
    ...(container.env ?? []).map((variable) => remoteVariable(variable, options)),
    ...(options.apiServer ? apiServerVariables(options.apiServer.port) : []),
  ];
  const envFrom = container.envFrom?.map((source) =>
    source.configMapRef?.name === ROOT_CA
      ? { ...source, configMapRef: { ...source.configMapRef, name: options.rootCaName } }
      : source,
  );
  return {
    ...withoutClaims(container),
    ...(env.length > 0 ? { env } : {}),
    ...(envFrom ? { envFrom } : {}),
  };
}

function remoteVariable(
  variable: EnvVar,
  { serviceAccountName, rootCaName }: { serviceAccountName: string; rootCaName: string },
): EnvVar {
  const { fieldRef, configMapKeyRef } = variable.valueFrom ?? {};
  if (fieldRef?.fieldPath === "spec.serviceAccountName") return { name: variable.name, value: serviceAccountName };
  if (configMapKeyRef?.name !== ROOT_CA) return variable;
  return { ...variable, valueFrom: { configMapKeyRef: { ...configMapKeyRef, name: rootCaName } } };
}

/** Resource claims of the consumer mean nothing to the provider. */
export function withoutClaims<C extends Container | EphemeralContainer>(container: C): C {
  if (!container.resources?.claims) return container;
  const resources = { ...container.resources };
  delete resources.claims;
  return { ...container, resources };
}

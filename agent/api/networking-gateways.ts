import { z } from "zod";
import { AGE, column, wideColumn } from "./columns.js";
import { defineResource, type ObjectOf } from "./definition.js";
import { NETWORKING } from "./groups.js";
import { bytes, dateTime, int32, int64, ipv4, localReference, object, objectReference, stringMap } from "./schema.js";
import { withDefault, withRules, type ValidationRule } from "./schema-hints.js";

/** Bounds what the uniqueness rule may cost the API server. */
const MAX_PORTS = 64;

const ports = z.array(int32).max(MAX_PORTS);
const protocol = z.enum(["TCP", "UDP"]);
const gatewayServiceType = z.enum(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]);
const connectionType = z.enum(["Server", "Client"]);

function given(field: string): string {
  return `(has(self.${field}) && size(self.${field}) > 0)`;
}

function exclusive(single: string, list: string): ValidationRule {
  return {
    rule: `!(has(self.${single}) && ${given(list)})`,
    message: `${single} and ${list} are mutually exclusive`,
  };
}

function unique(list: string): ValidationRule {
  return {
    rule: `!has(self.${list}) || self.${list}.all(x, self.${list}.exists_one(y, x == y))`,
    message: `${list} must not contain duplicates`,
  };
}

const portRequired: ValidationRule = {
  rule: `has(self.port) || ${given("ports")}`,
  message: "one of port and ports is required",
};

/** Where a gateway server is reached, as its status tells it and a client's spec takes it. */
const endpointFields = object({
  /** IP addresses or DNS names. Empty text: not known yet. */
  addresses: z.array(z.string()).optional(),
  port: int32.optional(),
  ports: ports.optional(),
  protocol: protocol.optional(),
});
const portRules = [exclusive("port", "ports"), unique("ports")];

export const endpointStatus = withRules(endpointFields, ...portRules);
const clientEndpoint = withRules(endpointFields, ...portRules, portRequired);

const serverEndpoint = withRules(
  object({
    port: int32.optional(),
    ports: ports.optional(),
    serviceType: withDefault(gatewayServiceType, "ClusterIP"),
    nodePort: int32.optional(),
    nodePorts: ports.optional(),
    loadBalancerIP: z.string().optional(),
  }),
  ...portRules,
  portRequired,
  exclusive("nodePort", "nodePorts"),
  unique("nodePorts"),
);

/** The active gateway pod: its address and its node. */
export const internalEndpoint = object({ ip: ipv4.optional(), node: z.string().optional() });

const gatewayServerSpec = object({
  serverTemplateRef: objectReference.optional(),
  mtu: int64.optional(),
  endpoint: serverEndpoint.optional(),
  /** The key Secret. Absent: found by its labels, or made. */
  secretRef: localReference.optional(),
  serviceLabels: stringMap.optional(),
  serviceAnnotations: stringMap.optional(),
});

const gatewayServerStatus = object({
  endpoint: endpointStatus.optional(),
  internalEndpoint: internalEndpoint.optional(),
  serverRef: objectReference.optional(),
  secretRef: objectReference.optional(),
});

export const GatewayServerResource = defineResource({
  ...NETWORKING,
  kind: "GatewayServer",
  plural: "gatewayservers",
  shortNames: ["gws", "gwserver"],
  namespaced: true,
  spec: gatewayServerSpec,
  status: gatewayServerStatus,
  columns: [
    wideColumn("TEMPLATE KIND", ".spec.serverTemplateRef.kind"),
    column("TEMPLATE NAME", ".spec.serverTemplateRef.name"),
    wideColumn("TEMPLATE NAMESPACE", ".spec.serverTemplateRef.namespace"),
    column("IP", ".status.endpoint.addresses[*]"),
    column("PORT", ".status.endpoint.port", "integer"),
    wideColumn("PROTOCOL", ".status.endpoint.protocol"),
    wideColumn("MTU", ".spec.mtu", "integer"),
    AGE,
  ],
});

const gatewayClientSpec = object({
  clientTemplateRef: objectReference.optional(),
  mtu: int64.optional(),
  endpoint: clientEndpoint.optional(),
  secretRef: localReference.optional(),
});

const gatewayClientStatus = object({
  clientRef: objectReference.optional(),
  secretRef: objectReference.optional(),
  internalEndpoint: internalEndpoint.optional(),
});

export const GatewayClientResource = defineResource({
  ...NETWORKING,
  kind: "GatewayClient",
  plural: "gatewayclients",
  shortNames: ["gwc", "gwclient"],
  namespaced: true,
  spec: gatewayClientSpec,
  status: gatewayClientStatus,
  columns: [
    wideColumn("TEMPLATE KIND", ".spec.clientTemplateRef.kind"),
    column("TEMPLATE NAME", ".spec.clientTemplateRef.name"),
    wideColumn("TEMPLATE NAMESPACE", ".spec.clientTemplateRef.namespace"),
    column("IP", ".spec.endpoint.addresses[*]"),
    column("PORT", ".spec.endpoint.port", "integer"),
    wideColumn("PROTOCOL", ".spec.endpoint.protocol"),
    wideColumn("MTU", ".spec.mtu", "integer"),
    AGE,
  ],
});

const connectionSpec = object({ type: connectionType, gatewayRef: objectReference });

const connectionStatus = object({
  /** In use: `Connected`, `Connecting`, `Error`. The schema has no enumeration. */
  value: z.string().optional(),
  latency: object({ value: z.string().optional(), timestamp: dateTime.optional() }).optional(),
});

export const ConnectionResource = defineResource({
  ...NETWORKING,
  kind: "Connection",
  plural: "connections",
  shortNames: ["conn"],
  namespaced: true,
  specRequired: true,
  spec: connectionSpec,
  status: connectionStatus,
  columns: [
    column("TYPE", ".spec.type"),
    column("STATUS", ".status.value"),
    AGE,
    wideColumn("LATENCY", ".status.latency.value"),
  ],
});

/** The 32 raw bytes of a WireGuard public key, as base64. */
const publicKeySpec = object({ publicKey: bytes.optional() });

export const PublicKeyResource = defineResource({
  ...NETWORKING,
  kind: "PublicKey",
  plural: "publickeies",
  shortNames: ["pk", "pkies", "pkey"],
  namespaced: true,
  spec: publicKeySpec,
  columns: [],
});

/** The values of a Connection's status. */
export const ConnectionValue = { connected: "Connected", connecting: "Connecting", error: "Error" } as const;

export type GatewayServiceType = z.infer<typeof gatewayServiceType>;
export type GatewayServer = ObjectOf<typeof GatewayServerResource>;
export type GatewayServerSpec = z.infer<typeof gatewayServerSpec>;
export type GatewayServerStatus = z.infer<typeof gatewayServerStatus>;
export type GatewayServerEndpoint = z.infer<typeof serverEndpoint>;
export type EndpointStatus = z.infer<typeof endpointStatus>;
export type InternalEndpoint = z.infer<typeof internalEndpoint>;
export type GatewayClient = ObjectOf<typeof GatewayClientResource>;
export type GatewayClientSpec = z.infer<typeof gatewayClientSpec>;
export type GatewayClientStatus = z.infer<typeof gatewayClientStatus>;
export type GatewayClientEndpoint = z.infer<typeof clientEndpoint>;
export type Connection = ObjectOf<typeof ConnectionResource>;
export type ConnectionSpec = z.infer<typeof connectionSpec>;
export type ConnectionStatus = z.infer<typeof connectionStatus>;
export type ConnectionType = z.infer<typeof connectionType>;
export type PublicKey = ObjectOf<typeof PublicKeyResource>;
export type PublicKeySpec = z.infer<typeof publicKeySpec>;

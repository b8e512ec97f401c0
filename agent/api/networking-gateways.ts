import { z } from "zod";
import { AGE, column, wideColumn } from "./columns.js";
import { defineResource } from "./definition.js";
import type { CustomObject } from "./kind.js";
import { GatewayServerResource, GatewayClientResource, ConnectionResource, PublicKeyResource } from "./kinds.js";
import {
  bytes,
  dateTime,
  int32,
  int64,
  ipv4,
  localReference,
  object,
  objectReference,
  standardCondition,
  stringMap,
} from "./schema.js";
import { listMap, withDefault, withHint, withRules, type ValidationRule } from "./schema-hints.js";

/** Bounds what the uniqueness rule may cost the API server. */
const MAX_PORTS = 64;

/** The smallest MTU of IPv6, and jumbo frames: what a tunnel may have. */
export const MTU_RANGE = { min: 1280, max: 9000 } as const;

/** 0 and absent: the default. */
const mtu = withRules(
  int64.refine((value) => value === 0 || (value >= MTU_RANGE.min && value <= MTU_RANGE.max)),
  {
    rule: `self == 0 || (self >= ${MTU_RANGE.min} && self <= ${MTU_RANGE.max})`,
    message: `must be between ${MTU_RANGE.min} and ${MTU_RANGE.max} bytes`,
  },
);

const MAX_PORT = 65_535;
const port = withHint(int32.min(1).max(MAX_PORT), { format: "int32" });
const ports = z.array(port).max(MAX_PORTS);
/** 0: any. */
const nodePort = withHint(int32.min(0).max(MAX_PORT), { format: "int32" });
/** An IPv4 address, a DNS name, or nothing yet. */
const host = withHint(z.string(), { pattern: "^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?[.]?)?$" });
/** As Kubernetes names classes: "example.com/internal". */
const className = withHint(z.string(), {
  maxLength: 317,
  pattern: "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$",
});
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

const portRules = [exclusive("port", "ports"), unique("ports")];

/** Without the bounds of a spec: what is found is told as it is. */
export const endpointStatus = withRules(
  object({
    addresses: z.array(z.string()).optional(),
    port: int32.optional(),
    ports: z.array(int32).max(MAX_PORTS).optional(),
    protocol: protocol.optional(),
  }),
  ...portRules,
);

const clientEndpoint = withRules(
  object({
    /** IP addresses or DNS names. Empty text: not known yet. */
    addresses: z.array(host).optional(),
    port: port.optional(),
    ports: ports.optional(),
    protocol: protocol.optional(),
  }),
  ...portRules,
  portRequired,
);

const serverEndpoint = withRules(
  object({
    port: port.optional(),
    ports: ports.optional(),
    serviceType: withRules(withDefault(gatewayServiceType, "ClusterIP"), {
      rule: "self != 'ExternalName'",
      message: "a gateway cannot be exposed by a Service of type ExternalName",
    }),
    nodePort: nodePort.optional(),
    nodePorts: ports.optional(),
    loadBalancerIP: host.optional(),
    /** Which load balancer is to serve the Service. Not in Liqo, where a template of one's own says it. */
    loadBalancerClass: className.optional(),
  }),
  ...portRules,
  portRequired,
  exclusive("nodePort", "nodePorts"),
  unique("nodePorts"),
);

/** The active gateway pod: its address and its node. */
export const internalEndpoint = object({ ip: ipv4.optional(), node: z.string().optional() });

/** Of the key pair in use, base64: for those who may not read its Secret. */
export const gatewayPublicKey = bytes.optional();

/** `Accepted`: whether the gateway is made as its spec asks; the message begins with the field that stands in the way. */
export const gatewayConditions = listMap(z.array(standardCondition), "type").optional();

const gatewayServerSpec = object({
  serverTemplateRef: objectReference.optional(),
  mtu: mtu.optional(),
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
  publicKey: gatewayPublicKey,
  conditions: gatewayConditions,
});

export const GatewayServerDefinition = defineResource(GatewayServerResource, {
  shortNames: ["gws", "gwserver"],
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
  mtu: mtu.optional(),
  endpoint: clientEndpoint.optional(),
  secretRef: localReference.optional(),
});

const gatewayClientStatus = object({
  clientRef: objectReference.optional(),
  secretRef: objectReference.optional(),
  publicKey: gatewayPublicKey,
  internalEndpoint: internalEndpoint.optional(),
  conditions: gatewayConditions,
});

export const GatewayClientDefinition = defineResource(GatewayClientResource, {
  shortNames: ["gwc", "gwclient"],
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
  /** What is wrong, and what to look at; absent when nothing is. */
  message: z.string().optional(),
  /** What makes the tunnel: `kernel` or `userspace`. */
  implementation: z.string().optional(),
  /** Clients: where the server is looked for, "address:port". Servers: where they listen, ":port". */
  endpoint: z.string().optional(),
  /** The MTU that the gateway runs with, in bytes. */
  mtu: int64.optional(),
  /** Whether packets as large as the MTU pass. */
  fullSizePackets: z.string().optional(),
  /** With which keys the peer was last heard, base64: this gateway's public key and the peer's. */
  publicKey: z.string().optional(),
  peerPublicKey: z.string().optional(),
});

export const ConnectionDefinition = defineResource(ConnectionResource, {
  shortNames: ["conn"],
  specRequired: true,
  spec: connectionSpec,
  status: connectionStatus,
  columns: [
    column("TYPE", ".spec.type"),
    column("STATUS", ".status.value"),
    AGE,
    wideColumn("LATENCY", ".status.latency.value"),
    wideColumn("IMPLEMENTATION", ".status.implementation"),
    wideColumn("MESSAGE", ".status.message"),
  ],
});

/** The 32 raw bytes of a WireGuard public key, as base64. */
const publicKeySpec = object({
  // A pattern: rules in CEL are given such text decoded as the URL form of base64, and fail.
  publicKey: withHint(bytes, { pattern: "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$" }).optional(),
});

export const PublicKeyDefinition = defineResource(PublicKeyResource, {
  shortNames: ["pk", "pkies", "pkey"],
  spec: publicKeySpec,
  columns: [],
});

export type GatewayServiceType = z.infer<typeof gatewayServiceType>;
export type GatewayServer = CustomObject<GatewayServerSpec, GatewayServerStatus>;
export type GatewayServerSpec = z.infer<typeof gatewayServerSpec>;
export type GatewayServerStatus = z.infer<typeof gatewayServerStatus>;
export type GatewayServerEndpoint = z.infer<typeof serverEndpoint>;
export type EndpointStatus = z.infer<typeof endpointStatus>;
export type InternalEndpoint = z.infer<typeof internalEndpoint>;
export type GatewayClient = CustomObject<GatewayClientSpec, GatewayClientStatus>;
export type GatewayClientSpec = z.infer<typeof gatewayClientSpec>;
export type GatewayClientStatus = z.infer<typeof gatewayClientStatus>;
export type GatewayClientEndpoint = z.infer<typeof clientEndpoint>;
export type Connection = CustomObject<ConnectionSpec, ConnectionStatus>;
export type ConnectionSpec = z.infer<typeof connectionSpec>;
export type ConnectionStatus = z.infer<typeof connectionStatus>;
export type ConnectionType = z.infer<typeof connectionType>;
export type PublicKey = CustomObject<PublicKeySpec>;
export type PublicKeySpec = z.infer<typeof publicKeySpec>;

import {
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  Names,
  WgGatewayClientResource,
  WgGatewayClientTemplateResource,
  WgGatewayServerResource,
  WgGatewayServerTemplateResource,
  type CustomResource,
  type GatewayClient,
  type GatewayServer,
  type ObjectReference,
  type WgGatewayClient,
  type WgGatewayServer,
} from "../../../api/index.js";

/** What differs between the server's and the client's side of a link. */
export interface GatewayKinds<G extends Gateway, W extends Workload> {
  gateway: CustomResource<G>;
  workload: CustomResource<W>;
  /** The kind of template that is meant where none is named. */
  template: { kind: string; apiVersion: string };
  templateRef: (gateway: G) => ObjectReference | undefined;
  /** Where the spec names it. */
  templateRefPath: string;
  defaultTemplate: string;
  /** The status field that names the workload. */
  workloadRefField: "serverRef" | "clientRef";
}

export type Gateway = GatewayServer | GatewayClient;
export type Workload = WgGatewayServer | WgGatewayClient;

export const SERVER: GatewayKinds<GatewayServer, WgGatewayServer> = {
  gateway: GatewayServerResource,
  workload: WgGatewayServerResource,
  template: WgGatewayServerTemplateResource,
  templateRef: ({ spec }) => spec.serverTemplateRef,
  templateRefPath: "spec.serverTemplateRef",
  defaultTemplate: Names.gatewayServerTemplate,
  workloadRefField: "serverRef",
};

export const CLIENT: GatewayKinds<GatewayClient, WgGatewayClient> = {
  gateway: GatewayClientResource,
  workload: WgGatewayClientResource,
  template: WgGatewayClientTemplateResource,
  templateRef: ({ spec }) => spec.clientTemplateRef,
  templateRefPath: "spec.clientTemplateRef",
  defaultTemplate: Names.gatewayClientTemplate,
  workloadRefField: "clientRef",
};

export const TEMPLATES = [WgGatewayServerTemplateResource, WgGatewayClientTemplateResource] as const;

export const WORKLOADS = [WgGatewayServerResource, WgGatewayClientResource] as const;

export function remoteClusterOf(object: { metadata: { labels?: Record<string, string> } }): string | undefined {
  return object.metadata.labels?.[Labels.remoteClusterID];
}

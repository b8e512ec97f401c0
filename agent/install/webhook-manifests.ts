import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  RuleWithOperations,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from "kubernetes-types/admissionregistration/v1";
import type { Service } from "kubernetes-types/core/v1";
import type { LabelSelector } from "kubernetes-types/meta/v1";
import {
  ConfigurationResource,
  FirewallConfigurationResource,
  ForeignClusterResource,
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  LabelValues,
  Names,
  NamespaceMapResource,
  NamespaceOffloadingResource,
  Ports,
  PublicKeyResource,
  RenewResource,
  ResourceSliceResource,
  RouteConfigurationResource,
  ShadowPodResource,
  TenantResource,
  VirtualNodeResource,
} from "../api/index.js";
import { POD_WEBHOOK, ROOM_ANNOTATION, WebhookPaths } from "../controller/webhooks/paths.js";
import { DaemonSetResource, PodResource, SecretResource } from "../runtime/core-resources.js";
import type { ResourceType } from "../runtime/resource-type.js";

export interface WebhookInputs {
  /** The agent's namespace. */
  namespace: string;
  /** Where webhooks are served instead of the Service, for instance "https://127.0.0.1:9443". */
  url?: string;
}

interface WebhookRule {
  name: string;
  path: string;
  type: ResourceType;
  operations?: ("CREATE" | "UPDATE" | "DELETE")[];
  /** Objects labelled liqo.io/webhook-skip=true are left out. */
  skippable?: boolean;
}

const MUTATING: WebhookRule[] = [
  { name: "shadowpod.mutate.liqo.io", path: WebhookPaths.mutateShadowPods, type: ShadowPodResource },
  { name: "fc.mutate.liqo.io", path: WebhookPaths.foreignCluster, type: ForeignClusterResource, skippable: true },
  {
    name: "virtualnode.mutate.liqo.io",
    path: WebhookPaths.mutateVirtualNodes,
    type: VirtualNodeResource,
    skippable: true,
  },
  { name: "configuration.mutate.liqo.io", path: WebhookPaths.mutateConfigurations, type: ConfigurationResource },
  {
    name: "firewallconfiguration.mutate.liqo.io",
    path: WebhookPaths.mutateFirewallConfigurations,
    type: FirewallConfigurationResource,
    skippable: true,
  },
  { name: "tenant.mutate.liqo.io", path: WebhookPaths.mutateTenants, type: TenantResource, skippable: true },
];

/** What a peering user may write, see PEERING_USER_TENANT_NS_RULES. Of Tenants it is asked for deletions, too. */
const PEERING_USER: WebhookRule[] = [
  ConfigurationResource,
  GatewayClientResource,
  GatewayServerResource,
  PublicKeyResource,
  SecretResource,
  TenantResource,
].map((type) => ({
  name: `${type.kind.toLowerCase()}.peeringuser.validate.liqo.io`,
  path: WebhookPaths.peeringUserWrites,
  type,
  operations: ["CREATE", "UPDATE", ...(type === TenantResource ? (["DELETE"] as const) : [])],
}));

const VALIDATING: WebhookRule[] = [
  { name: "shadowpod.validate.liqo.io", path: WebhookPaths.validateShadowPods, type: ShadowPodResource },
  {
    name: "virtualnode.validate.liqo.io",
    path: WebhookPaths.validateVirtualNodes,
    type: VirtualNodeResource,
    operations: ["CREATE", "DELETE"],
    skippable: true,
  },
  { name: "configuration.validate.liqo.io", path: WebhookPaths.validateConfigurations, type: ConfigurationResource },
  { name: "gatewayserver.validate.liqo.io", path: WebhookPaths.validateGateways, type: GatewayServerResource },
  { name: "gatewayclient.validate.liqo.io", path: WebhookPaths.validateGateways, type: GatewayClientResource },
  {
    name: "firewallconfiguration.validate.liqo.io",
    path: WebhookPaths.validateFirewallConfigurations,
    type: FirewallConfigurationResource,
    skippable: true,
  },
  {
    name: "routeconfiguration.validate.liqo.io",
    path: WebhookPaths.validateRouteConfigurations,
    type: RouteConfigurationResource,
    skippable: true,
  },
  { name: "tenant.validate.liqo.io", path: WebhookPaths.validateTenants, type: TenantResource, skippable: true },
  { name: "namespacemap.peer.validate.liqo.io", path: WebhookPaths.peerWrites, type: NamespaceMapResource },
  { name: "renew.peer.validate.liqo.io", path: WebhookPaths.peerWrites, type: RenewResource },
  { name: "resourceslice.peer.validate.liqo.io", path: WebhookPaths.peerWrites, type: ResourceSliceResource },
  {
    name: "resourceslice.validate.liqo.io",
    path: WebhookPaths.resourceSlices,
    type: ResourceSliceResource,
    operations: ["CREATE", "UPDATE", "DELETE"],
  },
  {
    name: "nsoff.validate.liqo.io",
    path: WebhookPaths.namespaceOffloading,
    type: NamespaceOffloadingResource,
    operations: ["CREATE", "UPDATE", "DELETE"],
    skippable: true,
  },
];

/**
 * The webhook Service and configurations. They fail closed, for Liqo's own kinds, pods of offloaded namespaces and Secrets that peers write. The
 * controller writes its authority into those labelled liqo.io/webhook=true.
 */
export function webhookManifests(
  inputs: WebhookInputs,
): [Service, MutatingWebhookConfiguration, ValidatingWebhookConfiguration] {
  const metadata = {
    name: Names.webhookConfiguration,
    labels: { [Labels.webhook]: "true", [Labels.appName]: "webhook", [Labels.appPartOf]: "liqo" },
  };
  return [
    webhookService(inputs.namespace),
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata,
      webhooks: [podWebhook(inputs), daemonSetWebhook(inputs), ...MUTATING.map((rule) => webhook(inputs, rule))],
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata,
      webhooks: [
        podRoomWebhook(inputs),
        ...VALIDATING.map((rule) => webhook(inputs, rule)),
        ...PEERING_USER.map((rule) => ({ ...webhook(inputs, rule), matchConditions: ONLY_PEERS })),
      ],
    },
  ];
}

function webhookService(namespace: string): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: Names.webhookService,
      namespace,
      labels: { [Labels.appName]: "webhook", [Labels.appPartOf]: "liqo" },
    },
    spec: {
      selector: { [Labels.appName]: "controller-manager", [Labels.appComponent]: "controller-manager" },
      ports: [{ name: "https", port: 443, targetPort: Ports.webhook, protocol: "TCP" }],
    },
  };
}

/** Pods of offloaded namespaces, never those of the cluster's or the agent's own, which webhooks themselves depend on. */
function podWebhook(inputs: WebhookInputs): MutatingWebhook {
  return {
    ...webhook(inputs, {
      name: POD_WEBHOOK,
      path: WebhookPaths.pod,
      type: PodResource,
      operations: ["CREATE"],
    }),
    namespaceSelector: {
      matchLabels: { [Labels.schedulingEnabled]: "true" },
      matchExpressions: [
        { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system", inputs.namespace] },
      ],
    },
  };
}

/**
 * Pods of consumers, where resources are enforced. They do not wait for the agent, as they may have to be made anew at any time: what has become too large without being
 * judged here is taken back by the controller.
 */
function podRoomWebhook(inputs: WebhookInputs): ValidatingWebhook {
  const rule = { name: "pod.validate.liqo.io", path: WebhookPaths.podRoom, type: PodResource };
  return {
    ...webhook(inputs, { ...rule, operations: ["CREATE"] }),
    objectSelector: { matchLabels: { [Labels.managedBy]: LabelValues.shadowPodManager } },
    matchConditions: [
      {
        name: "room",
        expression: `has(object.metadata.annotations) && '${ROOM_ANNOTATION}' in object.metadata.annotations`,
      },
    ],
    failurePolicy: "Ignore",
    timeoutSeconds: 5,
  };
}

/** All DaemonSets, those of the cluster's own system before all; none of them must wait for the agent. */
function daemonSetWebhook(inputs: WebhookInputs): MutatingWebhook {
  const rule = { name: "daemonset.mutate.liqo.io", path: WebhookPaths.daemonSets, type: DaemonSetResource };
  return { ...webhook(inputs, { ...rule, skippable: true }), failurePolicy: "Ignore", timeoutSeconds: 2 };
}

function webhook(inputs: WebhookInputs, rule: WebhookRule): MutatingWebhook & ValidatingWebhook {
  return {
    name: rule.name,
    admissionReviewVersions: ["v1"],
    clientConfig: inputs.url
      ? { url: `${inputs.url}${rule.path}` }
      : { service: { name: Names.webhookService, namespace: inputs.namespace, path: rule.path, port: 443 } },
    rules: [resourceRule(rule)],
    failurePolicy: "Fail",
    sideEffects: "None",
    timeoutSeconds: 10,
    matchPolicy: "Equivalent",
    ...(rule.skippable ? { objectSelector: notSkipped() } : {}),
  };
}

/** The published types leave two fields of a rule out. */
type ResourceRule = RuleWithOperations & { resources: string[]; scope: string };

function resourceRule({ type, operations = ["CREATE", "UPDATE"] }: WebhookRule): ResourceRule {
  return {
    apiGroups: [type.group],
    apiVersions: [type.version],
    resources: [type.plural],
    operations,
    scope: type.namespaced ? "Namespaced" : "Cluster",
  };
}

/** Nobody else's Secrets wait for the webhook. */
const ONLY_PEERS = [
  {
    name: "peers",
    expression: `has(request.userInfo.groups) && '${Names.controlPlaneGroup}' in request.userInfo.groups`,
  },
];

function notSkipped(): LabelSelector {
  return { matchExpressions: [{ key: Labels.webhookSkip, operator: "NotIn", values: ["true"] }] };
}

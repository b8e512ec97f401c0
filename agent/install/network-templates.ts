import {
  Annotations,
  LabelValues,
  Labels,
  Names,
  NetworkResource,
  NetworkType,
  Ports,
  WgGatewayClientResource,
  WgGatewayClientTemplateResource,
  WgGatewayServerResource,
  WgGatewayServerTemplateResource,
  podNetworkName,
  reservedNetworkName,
  type Network,
  type WgGatewayClientTemplate,
  type WgGatewayServerTemplate,
} from "../api/index.js";
import type { InstallInputs } from "./inputs.js";

type NetworkInputs = Pick<
  InstallInputs,
  "namespace" | "podCIDRs" | "serviceCIDR" | "externalCIDR" | "internalCIDR" | "reservedSubnets"
>;
type TemplateInputs = Pick<
  InstallInputs,
  "namespace" | "image" | "imagePullPolicy" | "imagePullSecrets" | "gatewayReplicas"
>;

/** What a cluster lends addresses from where nothing else is said. */
export const DEFAULT_EXTERNAL = "10.70.0.0/16";
const DEFAULT_INTERNAL = "10.80.0.0/16";

/** The ranges that the cluster owns or keeps free (network specification, §2). Fixed ones come first, as others yield to them. */
export function networkManifests(inputs: NetworkInputs): Network[] {
  const { podCIDRs, serviceCIDR, externalCIDR, internalCIDR, reservedSubnets, namespace } = inputs;
  const network = (name: string, type: string, cidr: string, labels: Record<string, string>, preAllocated?: number) =>
    NetworkResource.build({
      metadata: {
        name,
        namespace,
        labels: { [Labels.networkType]: type, ...labels },
        annotations: { [Annotations.preinstalled]: "true" },
      },
      spec: { cidr, ...(preAllocated === undefined ? {} : { preAllocated }) },
    });
  const shared = { [Labels.networkNotRemapped]: "true", [Labels.networkShared]: "true" };
  // A range that was asked for must not move; the default one may.
  const fixedIf = (given: string | undefined): Record<string, string> =>
    given === undefined ? {} : { [Labels.networkNotRemapped]: "true" };
  return [
    ...podCIDRs.map((cidr) =>
      network(podCIDRs.length === 1 ? Names.podNetwork : podNetworkName(cidr), NetworkType.pod, cidr, shared),
    ),
    network(Names.serviceNetwork, NetworkType.service, serviceCIDR, shared),
    ...reservedSubnets.map((cidr) => network(reservedNetworkName(cidr), NetworkType.reserved, cidr, shared)),
    // The first address stands for all sources that are not pods.
    network(Names.externalNetwork, NetworkType.external, externalCIDR ?? DEFAULT_EXTERNAL, fixedIf(externalCIDR), 1),
    network(Names.internalNetwork, NetworkType.internal, internalCIDR ?? DEFAULT_INTERNAL, fixedIf(internalCIDR)),
  ];
}

/** The default templates of gateways (network specification, §5.1, §5.3), which users may edit or copy. */
export function gatewayTemplateManifests(
  inputs: TemplateInputs,
): [server: WgGatewayServerTemplate, client: WgGatewayClientTemplate] {
  return [serverTemplate(inputs), clientTemplate(inputs)];
}

function serverTemplate(inputs: TemplateInputs): WgGatewayServerTemplate {
  return WgGatewayServerTemplateResource.build({
    metadata: { name: Names.gatewayServerTemplate, namespace: inputs.namespace },
    spec: {
      objectKind: { apiVersion: WgGatewayServerResource.apiVersion, kind: WgGatewayServerResource.kind },
      template: {
        metadata: METADATA,
        spec: {
          service: {
            metadata: RESOURCE_METADATA,
            spec: {
              selector: { ...SELECTOR, [Labels.gatewayActive]: "true" },
              type: "{{ .Spec.Endpoint.ServiceType }}",
              ports: [
                {
                  name: "wireguard",
                  protocol: "UDP",
                  port: "{{ .Spec.Endpoint.Port }}",
                  targetPort: "{{ .Spec.Endpoint.Port }}",
                  "?nodePort": "{{ .Spec.Endpoint.NodePort }}",
                },
              ],
              "?loadBalancerIP": "{{ .Spec.Endpoint.LoadBalancerIP }}",
              "?loadBalancerClass": "{{ .Spec.Endpoint.LoadBalancerClass }}",
            },
          },
          deployment: deployment(inputs, ["--mode=server", "--listen-port={{ .Spec.Endpoint.Port }}"]),
          secretRef: { name: "{{ .SecretName }}" },
        },
      },
    },
  });
}

function clientTemplate(inputs: TemplateInputs): WgGatewayClientTemplate {
  return WgGatewayClientTemplateResource.build({
    metadata: { name: Names.gatewayClientTemplate, namespace: inputs.namespace },
    spec: {
      objectKind: { apiVersion: WgGatewayClientResource.apiVersion, kind: WgGatewayClientResource.kind },
      template: {
        metadata: METADATA,
        spec: {
          deployment: deployment(inputs, [
            "--mode=client",
            "--endpoint-addresses={{ range .Spec.Endpoint.Addresses }}{{ . }},{{ end }}",
            "--endpoint-port={{ .Spec.Endpoint.Port }}",
          ]),
          secretRef: { name: "{{ .SecretName }}" },
        },
      },
    },
  });
}

const METADATA = { name: "{{ .Name }}", namespace: "{{ .Namespace }}" };

const SELECTOR = {
  [Labels.appName]: "{{ .Name }}",
  [Labels.networkingComponent]: LabelValues.gatewayComponent,
  [Labels.gatewayName]: "{{ .Name }}",
  [Labels.gatewayNamespace]: "{{ .Namespace }}",
};

const LABELS = { ...SELECTOR, [Labels.remoteClusterID]: "{{ .ClusterID }}" };
const RESOURCE_METADATA = { name: "gw-{{ .Name }}", namespace: "{{ .Namespace }}", labels: LABELS };
const KEYS_VOLUME = "wireguard-keys";

function deployment(inputs: TemplateInputs, roleArguments: string[]): object {
  const { imagePullSecrets, gatewayReplicas = 1 } = inputs;
  const hasStandby = gatewayReplicas > 1;
  return {
    metadata: RESOURCE_METADATA,
    spec: {
      replicas: gatewayReplicas,
      strategy: hasStandby ? ONE_MORE_FIRST : { type: "Recreate" },
      selector: { matchLabels: SELECTOR },
      template: {
        // Of several replicas the one that serves labels itself.
        metadata: { labels: hasStandby ? LABELS : { ...LABELS, [Labels.gatewayActive]: "true" } },
        spec: {
          serviceAccountName: "{{ .Name }}",
          terminationGracePeriodSeconds: 5,
          ...(imagePullSecrets.length > 0 ? { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) } : {}),
          affinity: { nodeAffinity: physicalNodesOnly(), ...(hasStandby ? { podAntiAffinity: apart() } : {}) },
          tolerations: LOST_NODE,
          containers: [container(inputs, roleArguments, hasStandby)],
          volumes: [{ name: KEYS_VOLUME, secret: { secretName: "{{ .SecretName }}", defaultMode: 0o400 } }],
        },
      },
    },
  };
}

/**
 * What a request is, a busy node's processors are shared by. So a gateway asks for what agents of cluster networks and DNS commonly do: less would starve the
 * traffic of all pods behind it before any of them, and more would keep small clusters from holding a gateway for each of many peers.
 */
const REQUESTS = { cpu: "100m", memory: "64Mi" };

/**
 * Kubernetes leaves pods on a node that is lost for five minutes, unless they say otherwise: as long would all traffic to the peer be cut. Not at once, as a
 * node whose kubelet starts anew soon reports again.
 */
const LOST_NODE = ["unreachable", "not-ready"].map((taint) => ({
  key: `node.kubernetes.io/${taint}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 10,
}));

/** Without a standby, a new gateway and an old one would fight for the peer. */
const ONE_MORE_FIRST = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };

function container({ image, imagePullPolicy }: TemplateInputs, roleArguments: string[], hasStandby: boolean): object {
  return {
    name: "gateway",
    image,
    imagePullPolicy,
    args: [
      "gateway",
      "--name={{ .Name }}",
      "--namespace={{ .Namespace }}",
      "--remote-cluster-id={{ .ClusterID }}",
      "--gateway-uid={{ .GatewayUID }}",
      "--mtu={{ .Spec.MTU }}",
      "--key-secret={{ .SecretName }}",
      ...(hasStandby ? ["--leader-election"] : []),
      ...roleArguments,
    ],
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
    ],
    // A standby counts for a rolling update once it could take over. Of a gateway without one nothing waits for its word: the old pod has ended before, the
    // Connection tells whether the tunnel works, and a Service that held its traffic back until the next probe would only make each restart longer.
    ...(hasStandby ? { readinessProbe: { httpGet: { path: "/readyz", port: Ports.health }, periodSeconds: 2 } } : {}),
    // What it said last tells whoever looks at the pod why it ended.
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: { requests: REQUESTS },
    // Kernel settings of the pod's network namespace, and a TUN device where the kernel has no WireGuard.
    securityContext: { privileged: true },
    volumeMounts: [{ name: KEYS_VOLUME, mountPath: "/etc/wireguard/keys", readOnly: true }],
  };
}

/** On different nodes, where there are several. */
function apart(): object {
  const podAffinityTerm = { labelSelector: { matchLabels: SELECTOR }, topologyKey: "kubernetes.io/hostname" };
  return { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm }] };
}

function physicalNodesOnly(): object {
  const expression = { key: Labels.type, operator: "NotIn", values: [LabelValues.virtualNodeType] };
  return {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [expression] }] },
  };
}

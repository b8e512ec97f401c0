import {
  gatewayResourceName,
  GatewayClientResource,
  GatewayServerResource,
  ConfigurationResource,
  PublicKeyResource,
} from "../../../agent/api/index.js";
import { keySecretLabels } from "../../../agent/controller/network/gateways/key-secret.js";
import { SecretResource, type KubeObject } from "../../../agent/runtime/index.js";
import {
  configurationManifest,
  gatewayClientManifest,
  gatewayServerManifest,
  givenAddresses,
  publicKeyManifest,
  type Endpoint,
} from "../../resources/network-link/manifests.js";
import { linkOptions, type LinkOptions } from "../../resources/network-link/options.js";
import type { KnownGateway, KnownSide } from "./known-side.js";
import { manifestOf, withChosenMetadata } from "./manifest.js";
import type { LinkInputs } from "./schema.js";

/** One end of the pair that is rendered. */
export interface RenderedEnd extends KnownSide {
  remoteId: string;
  /** The tenant namespace. */
  namespace: string;
  gateway: KnownGateway;
}

export interface RenderedEnds {
  consumer: RenderedEnd;
  provider: RenderedEnd;
}

/**
 * What a link consists of in one of its clusters (network specification, §3, §5). The marks that the NetworkLink resource puts on a Configuration are left
 * out: they tell it which direction still needs the link, and mean nothing to the agents.
 *
 * @throws Error naming the input that is missing
 */
export function linkManifests(own: RenderedEnd, other: RenderedEnd, inputs: LinkInputs, notes: string[]): KubeObject[] {
  if (!other.ranges) {
    throw new Error(
      `${other.side}.podCIDRs: is needed for the ${own.side}'s Configuration: give it, or a cluster with an agent to read it from`,
    );
  }
  const { names = {} } = own.inputs;
  const options = linkOptions({ ...inputs, keyRotationTrigger: undefined } as Parameters<typeof linkOptions>[0]);
  const isServer = (options.location === "Provider") === (own.side === "provider");
  const gateway = isServer
    ? manifestOf(GatewayServerResource, gatewayServerManifest(own, options, names.gateway))
    : clientManifest(own, other, options, inputs, notes);
  const objects = [
    manifestOf(ConfigurationResource, configurationManifest(own, other.ranges, { name: names.configuration })),
    ...keySecret(own),
    ...publicKey(own, other, inputs, notes),
    ...(gateway ? [withKeys(gateway, own)] : []),
  ];
  return withChosenMetadata(objects, inputs);
}

function clientManifest(
  own: RenderedEnd,
  other: RenderedEnd,
  options: LinkOptions,
  inputs: LinkInputs,
  notes: string[],
): KubeObject | undefined {
  const endpoint = endpointOf(other, options, inputs);
  if (endpoint)
    return manifestOf(GatewayClientResource, gatewayClientManifest(own, options, endpoint, own.inputs.names?.gateway));
  notes.push(
    `${own.side}: the GatewayClient is left out, as the server's address is not known: give networkLink.endpoint once ` +
      `the ${other.side}'s GatewayServer shows it in status.endpoint`,
  );
  return undefined;
}

function endpointOf(
  server: RenderedEnd,
  { client, server: wanted }: LinkOptions,
  { endpoint }: LinkInputs,
): Endpoint | undefined {
  const known = server.gateway.endpoint;
  const addresses = endpoint?.addresses ?? givenAddresses(client) ?? known?.addresses;
  if (!addresses) return undefined;
  const port = endpoint?.port ?? known?.port ?? wanted.nodePort ?? wanted.port;
  return { addresses, port, protocol: "UDP" };
}

/** A gateway whose keys were given names their Secret; any other finds or makes one. */
function withKeys(gateway: KubeObject, own: RenderedEnd): KubeObject {
  if (!own.inputs.keys?.privateKey) return gateway;
  const { spec } = gateway as { spec?: object };
  return { ...gateway, spec: { ...spec, secretRef: { name: keySecretNameOf(own) } } } as KubeObject;
}

function keySecret(own: RenderedEnd): KubeObject[] {
  const { keys } = own.inputs;
  if (!keys?.privateKey) return [];
  return [
    manifestOf(SecretResource, {
      metadata: { name: keySecretNameOf(own), namespace: own.namespace, labels: keySecretLabels(own.remoteId) },
      type: "Opaque",
      data: { privateKey: keys.privateKey, publicKey: keys.publicKey },
    }),
  ];
}

function keySecretNameOf({ inputs, remoteId }: RenderedEnd): string {
  return inputs.names?.keySecret ?? gatewayResourceName(remoteId);
}

function publicKey(
  own: RenderedEnd,
  other: RenderedEnd,
  { disableSharingKeys }: LinkInputs,
  notes: string[],
): KubeObject[] {
  if (disableSharingKeys) return [];
  const key = other.gateway.publicKey;
  if (key) return [manifestOf(PublicKeyResource, publicKeyManifest(own, key, undefined, own.inputs.names?.publicKey))];
  notes.push(
    `${own.side}: the PublicKey is left out, as the ${other.side}'s is not known: give ${other.side}.keys, or take it from ` +
      `status.publicKey of the ${other.side}'s gateway once there is one`,
  );
  return [];
}

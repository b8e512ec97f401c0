import type * as pulumi from "@pulumi/pulumi";
import { defineComponent, type ComponentSdk } from "../../framework/index.js";
import { checkAccess } from "../authentication/access.js";
import { checkParts } from "./check-parts.js";
import { partPaths, type Part } from "./part-paths.js";
import { peeringInputs, peeringOutputs } from "./schema.js";

type Inputs = Record<string, pulumi.Input<unknown>>;
type Outputs = Record<string, pulumi.Output<unknown>>;

const LINK = ["gatewayServerLocation", "gatewayServer", "gatewayClient", "mtu", "keyRotationTrigger"] as const;
const LINK_OUTPUTS = ["remappedCIDRs", "endpoint"] as const;
const PAIR_OUTPUTS = ["consumerClusterId", "providerClusterId", "tenantNamespaces"] as const;
const IDENTITY_OUTPUTS = ["identity"] as const;
const SLICE_OUTPUTS = ["virtualNodeName", "acceptedResources"] as const;

const TOKEN = "liqo:index:Peering";

type Switch = "networkingDisabled" | "authenticationDisabled" | "bidirectional" | "createResourceSlice";

/**
 * Network, authentication and resources in one. Network and authentication happen side by side; a slice needs the identity only, and its node becomes
 * ready once the network is there, too.
 */
export const peering = defineComponent({
  token: TOKEN,
  description:
    "Peers two clusters: the network between them, the consumer's identity on the provider, and resources with a virtual node; in one direction or both. " +
    "Both clusters need an agent.",
  inputs: peeringInputs,
  outputs: peeringOutputs,
  check(inputs, failures) {
    checkAccess(inputs, failures);
    checkParts(inputs, failures);
  },
  construct(sdk, name, inputs, options) {
    class Peering extends sdk.ComponentResource {
      complete(state: Inputs): void {
        this.registerOutputs(state);
      }
    }
    const component = new Peering(TOKEN, name, {}, options);
    const child = childrenOf(sdk, component, name, options);
    const forward = {
      consumer: inputs["consumer"],
      provider: inputs["provider"],
      ...pick(inputs, ["forceUnreachable", "objectLabels", "objectAnnotations"]),
    };
    const reverse = { ...forward, consumer: forward.provider, provider: forward.consumer };
    const network = isSet(sdk, inputs, "networkingDisabled")
      ? undefined
      : child({ type: "NetworkLink", of: "forward" }, "network", { ...forward, ...pick(inputs, LINK) }, [
          ...PAIR_OUTPUTS,
          ...LINK_OUTPUTS,
        ]);
    if (isSet(sdk, inputs, "authenticationDisabled")) {
      const state = pick(network?.outputs ?? {}, [...PAIR_OUTPUTS, ...LINK_OUTPUTS]);
      component.complete(state);
      return { component, state };
    }
    const directions: Direction[] = [
      {
        of: "forward",
        prefix: "",
        pair: forward,
        access: { ...pick(inputs, ["inBand", "proxyURL"]), ...ownAccess(inputs) },
        request: inputs,
      },
      // A proxy of the user's leads to the provider only.
      ...(isSet(sdk, inputs, "bidirectional")
        ? [
            {
              of: "reverse" as const,
              prefix: "reverse-",
              pair: reverse,
              access: { ...pick(inputs, ["inBand"]), ...ownAccess(reverseOf(sdk, inputs)) },
              request: reverseRequest(sdk, inputs),
            },
          ]
        : []),
    ];
    const [main, back] = directions.map(({ of, prefix, pair, access, request }) => {
      // In-band, the identity is used through the tunnel. And the way back must be gone before the link, which would stay for it.
      const waitsFor = network && (prefix !== "" || mayBeSet(inputs["inBand"])) ? [network.resource] : [];
      const authentication = child(
        { type: "Authentication", of },
        `${prefix}authentication`,
        { ...pair, ...access },
        [...PAIR_OUTPUTS, ...IDENTITY_OUTPUTS],
        waitsFor,
      );
      const ask = (whose: Part["of"], suffix: string, sliceName: pulumi.Input<unknown>, request: Inputs): Child =>
        child(
          { type: "ResourceSlice", of: whose },
          suffix,
          { ...pair, name: sliceName, ...sliceInputs(sdk, request) },
          SLICE_OUTPUTS,
          [authentication.resource],
        );
      const slice = isSet(sdk, request, "createResourceSlice")
        ? ask(of, `${prefix}resources`, request["resourceSliceName"], request)
        : undefined;
      return { authentication, slice, ask };
    });
    const further = additionalRequests(sdk, inputs).map(({ name, request }) => ({
      name,
      slice: main?.ask("additional", `resources-${name}`, name, request),
    }));
    const state: Inputs = {
      ...pick(main?.authentication.outputs ?? {}, [...PAIR_OUTPUTS, ...IDENTITY_OUTPUTS]),
      ...pick(main?.slice?.outputs ?? {}, SLICE_OUTPUTS),
      ...pick(network?.outputs ?? {}, LINK_OUTPUTS),
      ...(back ? { reverseIdentity: back.authentication.outputs["identity"] } : {}),
      ...(back?.slice
        ? {
            reverseVirtualNodeName: back.slice.outputs["virtualNodeName"],
            reverseAcceptedResources: back.slice.outputs["acceptedResources"],
          }
        : {}),
      ...(further.length > 0
        ? {
            additionalSlices: further.map(({ name, slice }) => ({
              name,
              ...pick(slice?.outputs ?? {}, SLICE_OUTPUTS),
            })),
          }
        : {}),
    };
    component.complete(state);
    return { component, state };
  },
});

/** One way of a Peering: who consumes, how it is let in, and what it asks for. */
interface Direction {
  of: "forward" | "reverse";
  prefix: string;
  pair: Inputs;
  access: Inputs;
  request: Inputs;
}

interface Child {
  resource: pulumi.CustomResource;
  outputs: Outputs;
}

/** Makes children of the component; a child's outputs must be named to be had. Time limits, and what names properties, are not handed down by themselves. */
function childrenOf(
  sdk: ComponentSdk,
  parent: pulumi.ComponentResource,
  name: string,
  { customTimeouts, ignoreChanges, replaceOnChanges }: pulumi.ComponentResourceOptions,
) {
  class ChildResource extends sdk.CustomResource {}
  return (
    { type, of }: Part,
    suffix: string,
    inputs: object,
    outputs: readonly string[],
    dependsOn: pulumi.Resource[] = [],
  ): Child => {
    const expected = Object.fromEntries(outputs.map((output) => [output, undefined]));
    const given = Object.fromEntries(Object.entries(inputs).filter(([, value]) => value !== undefined));
    const resource = new ChildResource(
      `liqo:index:${type}`,
      `${name}-${suffix}`,
      { ...expected, ...given },
      {
        ...{ parent, dependsOn, customTimeouts },
        ignoreChanges: partPaths(ignoreChanges, { type, of }),
        replaceOnChanges: partPaths(replaceOnChanges, { type, of }),
      },
    );
    return { resource, outputs: resource as unknown as Outputs };
  };
}

const AMOUNTS = ["cpu", "memory", "pods", "resources"] as const;
const REQUEST = ["createResourceSlice", "createVirtualNode", "resourceSliceClass"] as const;

/** What a ResourceSlice is made with. */
function sliceInputs(sdk: ComponentSdk, request: Inputs): Inputs {
  const resources = requested(sdk, request);
  return {
    ...(request["resourceSliceClass"] === undefined ? {} : { class: request["resourceSliceClass"] }),
    ...(resources ? { resources } : {}),
    ...pick(request, ["createVirtualNode"]),
  };
}

/** The amounts given apart and together; undefined when none are. */
function requested(sdk: ComponentSdk, inputs: Inputs): pulumi.Output<Record<string, unknown>> | undefined {
  const apart = pick(inputs, ["cpu", "memory", "pods"]);
  if (inputs["resources"] === undefined && Object.keys(apart).length === 0) return undefined;
  return sdk.all([inputs["resources"], apart]).apply(([together, own]) => {
    const named = Object.entries(own as Record<string, unknown>).filter(([, amount]) => amount !== undefined);
    return { ...(together as Record<string, unknown> | undefined), ...Object.fromEntries(named) };
  });
}

/** What one direction alone says of its Authentication: an identity that the program brings along has other names there. */
function ownAccess(from: Inputs): Inputs {
  return pick({ ...from, kubeconfig: from["identityKubeconfig"], userName: from["identityUserName"] }, [
    "tenantCondition",
    "authzPolicy",
    "kubeconfig",
    "userName",
  ]);
}

function reverseOf(sdk: ComponentSdk, inputs: Inputs): Inputs {
  return plain<Inputs>(sdk, inputs["reverse"] ?? {}, "reverse");
}

/** What is asked for in the other direction: what is said of it alone, and otherwise the same. */
function reverseRequest(sdk: ComponentSdk, inputs: Inputs): Inputs {
  const own = reverseOf(sdk, inputs);
  const hasAmounts = AMOUNTS.some((amount) => own[amount] !== undefined);
  return {
    ...pick(inputs, hasAmounts ? REQUEST : [...REQUEST, ...AMOUNTS]),
    ...pick(own, ["resourceSliceName", ...REQUEST, ...AMOUNTS]),
  };
}

function additionalRequests(sdk: ComponentSdk, inputs: Inputs): { name: string; request: Inputs }[] {
  const list = plain<Inputs[]>(sdk, inputs["additionalResourceSlices"] ?? [], "additionalResourceSlices");
  return list.map((item, index) => {
    const path = `additionalResourceSlices[${index}]`;
    const request = plain<Inputs>(sdk, item, path);
    return { name: plain<string>(sdk, request["name"], `${path}.name`), request };
  });
}

/** A switch that decides which children there are. */
function isSet(sdk: ComponentSdk, inputs: Inputs, property: Switch): boolean {
  return plain(sdk, inputs[property] ?? peeringInputs.shape[property].parse(undefined), property) === true;
}

/** What decides which children there are must be known when the program runs. @throws Error if it is not */
function plain<T>(sdk: ComponentSdk, value: pulumi.Input<unknown>, path: string): T {
  if (sdk.Output.isInstance(value)) {
    throw new Error(
      `${path}: must be a plain value, not an output of another resource, as it decides what the Peering consists of`,
    );
  }
  return value as T;
}

function mayBeSet(value: pulumi.Input<unknown>): boolean {
  return value !== undefined && value !== false;
}

function pick(from: Inputs | Outputs, keys: readonly string[]): Inputs {
  return Object.fromEntries(keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]]));
}

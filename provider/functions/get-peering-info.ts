import { z } from "zod";
import { clusterField, defineFunction } from "../framework/index.js";
import { valueAtDottedPath } from "./dotted-path.js";
import { peerInfo } from "./info-schema.js";
import { readPeerInfo } from "./peer-info.js";

/** liqo:index:getPeeringInfo: what Liqo's `info peer` tells of a cluster's peers. */
export const getPeeringInfo = defineFunction({
  token: "liqo:index:getPeeringInfo",
  description: "A cluster's peers in full: network, authentication and offloading of each.",
  inputs: z.object({
    cluster: clusterField("The cluster to ask."),
    clusterIDs: z.array(z.string()).optional().meta({ description: "IDs of the peers asked for. Default: all." }),
    get: z.string().optional().meta({
      description:
        "A dotted path into the answer, such as `authentication.status`; what is there is answered as `value`. With several peers it begins with the ID. Default: none.",
    }),
  }),
  outputs: z.object({
    peers: z.record(z.string(), peerInfo).meta({ description: "The peers by cluster ID." }),
    value: z.unknown().optional().meta({ description: "What `get` asked for." }),
  }),
  async call(context, { cluster, clusterIDs, get }) {
    const client = await context.client(cluster);
    const peers = await readPeerInfo(client, clusterIDs ?? [], context.signal);
    if (get === undefined) return { peers };
    const all = Object.values(peers);
    const [only] = all;
    // With one peer the path begins inside it, and may begin with its ID all the same.
    const root = all.length === 1 && only ? { ...peers, ...only } : peers;
    return { peers, value: valueAtDottedPath(root, get) };
  },
});

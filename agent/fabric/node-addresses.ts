import { InternalNodeResource, type InternalNode } from "../api/index.js";
import { LINK_PREFIX, ipQuery, type Run } from "../net/index.js";
import { sameJson, type Informer, type KubeClient } from "../runtime/index.js";

interface PresentAddresses {
  ifname?: string;
  addr_info?: { family?: string; local?: string; scope?: string }[];
}

/** kube-proxy in mode ipvs gives the node all Services' addresses there. */
const SERVICES_DEVICE = "kube-ipvs0";

/** More than this are not a node's: who has them sends from any. */
const MOST = 64;

/** One line of `ip monitor address` about an IPv4 address, also one that has gone. */
export function isAddressNews(line: string): boolean {
  return /\sinet \d/.test(line);
}

/** The IPv4 addresses that the node has, the CNI's among them. Undefined where they are too many. */
export async function nodeAddresses(run: Run): Promise<string[] | undefined> {
  const devices = await ipQuery<PresentAddresses>(run, ["-4", "address", "show"]);
  const own = devices.filter(({ ifname = "" }) => !ifname.startsWith(LINK_PREFIX) && ifname !== SERVICES_DEVICE);
  const all = own
    .flatMap(({ addr_info }) => addr_info ?? [])
    .flatMap(({ local, scope }) => (local !== undefined && scope !== "host" ? [local] : []));
  const unique = [...new Set(all)].sort();
  return unique.length > MOST ? undefined : unique;
}

/** Keeps the node's addresses in the status of its InternalNode. */
export class AddressReport {
  constructor(
    private readonly client: KubeClient,
    private readonly run: Run,
    private readonly internalNodes: Informer<InternalNode>,
  ) {}

  /** What was told last. */
  get told(): string[] | undefined {
    return this.internalNodes.list()[0]?.status?.addresses;
  }

  async apply(): Promise<void> {
    const [internalNode] = this.internalNodes.list();
    if (!internalNode) return;
    const addresses = await nodeAddresses(this.run);
    if (sameJson(addresses, this.told)) return;
    const { name = "" } = internalNode.metadata;
    const patch = { status: { addresses: addresses ?? null } };
    this.internalNodes.observe(
      await this.client.mergePatch(InternalNodeResource, { name }, patch, { subresource: "status" }),
    );
  }
}

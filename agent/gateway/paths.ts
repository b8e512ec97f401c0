import {
  applyGatewayEnd,
  applyRouting,
  applyVxlan,
  readGatewayEnd,
  type LinkEnd,
  type NftablesTable,
  type PresentEnd,
  type Run,
  type VxlanLink,
} from "../net/index.js";
import { sameJson } from "../runtime/index.js";
import type { FastPathTable } from "./fast-path-table.js";
import { gatewayDirectEnd, gatewayLinks, gatewayRouting, withDirectLink } from "./routing.js";
import { gatewayRuleset } from "./ruleset.js";
import type { GatewayState } from "./state.js";

export interface PathsOptions {
  run: Run;
  table: NftablesTable;
  fastPath: FastPathTable;
}

/** All ways through a gateway: links to the nodes, rules, routes, and the short way. */
export class Paths {
  /** As they were set up last. */
  private links?: VxlanLink[];
  /** The direct link's name, if packets passed by it at the last look. */
  private direct?: string;

  constructor(private readonly options: PathsOptions) {}

  /** Brings them to the state. Most of what changes is an address that is lent, and no link: those are looked at when they change, and where a look is thorough. */
  async apply(state: GatewayState, isThorough: boolean): Promise<void> {
    const { run, table, fastPath } = this.options;
    // Rules come first, so that nothing passes untranslated.
    await table.apply(gatewayRuleset(state));
    const end = gatewayDirectEnd(state);
    const links = gatewayLinks(state);
    const present = isThorough || !sameJson(links, this.links) ? await this.link(links, end) : undefined;
    const reachable = withDirectLink(state, this.direct);
    await applyRouting(run, gatewayRouting(reachable));
    if (end && present) await applyGatewayEnd(run, end, present);
    await fastPath.apply(reachable);
  }

  /** Resolves to this gateway's end of the direct link, if there is one. */
  private async link(links: VxlanLink[], end: LinkEnd | undefined): Promise<PresentEnd | undefined> {
    const { run } = this.options;
    this.links = undefined;
    await applyVxlan(run, links);
    const present = end && (await readGatewayEnd(run, end));
    this.direct = present?.isPassable ? end?.name : undefined;
    this.links = links;
    return present;
  }
}

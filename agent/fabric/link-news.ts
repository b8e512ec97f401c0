/** A direct link, `11: liqo.d5@if9: <…>`, also one that has gone. */
const DIRECT = /\bliqo\.d\d+@/;
/** `10.0.0.9 dev cni0 lladdr 02:00:00:00:00:01 REACHABLE`. */
const NEIGHBOUR = /^(\S+) dev \S+ lladdr (\S+)/;

/** What of all that happens to a node's links and neighbours matters to the fabric: its direct links, and where gateways are. */
export class LinkNews {
  private readonly known = new Map<string, string>();

  constructor(private readonly gateways: () => readonly string[]) {}

  /** Whether a line of `ip monitor` is news. That a neighbour is reachable, and then is not known to be, happens all the time. */
  hear(line: string): boolean {
    if (DIRECT.test(line)) return true;
    const [, address, hardwareAddress = ""] = NEIGHBOUR.exec(line) ?? [];
    if (address === undefined || this.known.get(address) === hardwareAddress) return false;
    if (!this.gateways().includes(address)) return false;
    this.known.set(address, hardwareAddress);
    return true;
  }
}

import { expect } from "chai";
import fc from "fast-check";
import { amountsOf } from "../../../cli/topology/amounts.js";
import { CARD_WIDTH, cardOf } from "../../../cli/topology/card.js";
import { edgesOf, formatMilliseconds } from "../../../cli/topology/edges.js";
import { placeCards, type Placed } from "../../../cli/topology/layout.js";
import { linesOf } from "../../../cli/topology/lines.js";
import { topologyMermaid } from "../../../cli/topology/mermaid.js";
import { topologySvg } from "../../../cli/topology/svg.js";
import { fitted, textWidth, wrapped } from "../../../cli/topology/text-width.js";
import { mergeViews } from "../../../provider/functions/topology/merge.js";
import type {
  Topology,
  TopologyCluster,
  TopologyLink,
  TopologyPeering,
} from "../../../provider/functions/topology/schema.js";
import { parseDuration, type ClusterView } from "../../../provider/functions/topology/view.js";
import type { PeerInfo } from "../../../provider/functions/info-schema.js";

const cluster = (clusterID: string, more: Partial<TopologyCluster> = {}): TopologyCluster => ({
  clusterID,
  asked: true,
  healthy: true,
  version: "0.1.0",
  ...more,
});
const link = (a: string, b: string, more: Partial<TopologyLink> = {}): TopologyLink => ({
  clusters: [a, b].sort(),
  status: "Healthy",
  roundTripMilliseconds: 1.25,
  ...more,
});
const peering = (consumer: string, provider: string): TopologyPeering => ({
  consumer,
  provider,
  authenticationStatus: "Healthy",
  offloadingStatus: "Healthy",
  virtualNodes: [
    {
      name: provider,
      status: "Healthy",
      granted: { cpu: "4", memory: "8Gi", pods: "110" },
      used: { cpu: "500m", memory: "8Gi", pods: "0" },
    },
  ],
});

/** Any clusters, 1 to 12, with any links and peerings between them; names as long as IDs may be. */
const topologies = fc
  .record({
    ids: fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9-]{0,49}[a-z]$/), { minLength: 1, maxLength: 12 }),
    pairs: fc.array(fc.tuple(fc.nat(11), fc.nat(11), fc.boolean(), fc.boolean()), { maxLength: 20 }),
  })
  .map(({ ids, pairs }): Topology => {
    const named = pairs
      .map(([a, b, linked, used]) => ({ a: ids[a % ids.length] ?? "", b: ids[b % ids.length] ?? "", linked, used }))
      .filter(({ a, b }) => a !== b);
    const unique = [...new Map(named.map((one) => [`${one.a}/${one.b}`, one])).values()];
    return {
      clusters: ids.map((id) => cluster(id)),
      links: unique.filter(({ linked }) => linked).map(({ a, b }) => link(a, b)),
      peerings: unique.filter(({ used }) => used).map(({ a, b }) => peering(a, b)),
    };
  });

const place = (topology: Topology): Placed[] =>
  placeCards(
    topology.clusters.map((one) => cardOf(one, topology)),
    edgesOf(topology),
  );

describe("the picture of a topology", () => {
  it("has every cluster once, none on another, whatever is joined with what", () => {
    fc.assert(
      fc.property(topologies, (topology) => {
        const placed = place(topology);
        expect(placed.map(({ card }) => card.cluster.clusterID).sort()).to.deep.equal(
          topology.clusters.map(({ clusterID }) => clusterID).sort(),
        );
        for (const [index, a] of placed.entries()) {
          expect(Math.min(a.x, a.y)).to.be.at.least(0);
          for (const b of placed.slice(index + 1)) {
            const apart = Math.abs(a.x - b.x) >= CARD_WIDTH || a.y + a.card.height <= b.y || b.y + b.card.height <= a.y;
            expect(apart, `${a.card.cluster.clusterID} on ${b.card.cluster.clusterID}`).to.equal(true);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  it("leads lines past other clusters' cards, in stars, rings and between two groups", () => {
    const ids = Array.from({ length: 12 }, (_, index) => `c${index}`);
    const between = (pairs: [number, number][], count: number): Topology => ({
      clusters: ids.slice(0, count).map((id) => cluster(id)),
      links: pairs.map(([a, b]) => link(ids[a] ?? "", ids[b] ?? "")),
      peerings: pairs.map(([a, b]) => peering(ids[a] ?? "", ids[b] ?? "")),
    });
    const star = (count: number) =>
      between(
        ids.slice(1, count).map((_, index) => [0, index + 1]),
        count,
      );
    const ring = (count: number) =>
      between(
        ids.slice(0, count).map((_, index) => [index, (index + 1) % count]),
        count,
      );
    const groups = between(
      [0, 1].flatMap((a) => [2, 3, 4, 5].map((b): [number, number] => [a, b])),
      6,
    );
    for (const topology of [star(2), star(5), star(12), ring(4), ring(6), ring(9), groups]) {
      const placed = place(topology);
      for (const { edge, from, to } of linesOf(edgesOf(topology), placed)) {
        for (const { card, x, y } of placed.filter(({ card }) => !edge.clusters.includes(card.cluster.clusterID))) {
          const crosses = Array.from({ length: 101 }, (_, part) => part / 100).some((part) => {
            const at = { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
            return at.x > x && at.x < x + CARD_WIDTH && at.y > y && at.y < y + card.height;
          });
          expect(crosses, `${edge.clusters.join("-")} over ${card.cluster.clusterID} of ${placed.length}`).to.equal(
            false,
          );
        }
      }
    }
  });

  it("is well-formed, and keeps its texts within the cards", () => {
    fc.assert(
      fc.property(topologies, (topology) => {
        const svg = topologySvg(topology, "auto");
        expect(unclosed(svg)).to.deep.equal([]);
        for (const { card } of place(topology)) {
          for (const line of card.title) expect(textWidth(line, 15)).to.be.at.most(CARD_WIDTH - 2 * 16 - 18);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("shows whole IDs of full length, round-trip times, and what is granted and used", () => {
    const id = `a${"-long-cluster-name".repeat(3)}`.slice(0, 51);
    const svg = topologySvg(
      { clusters: [cluster(id), cluster("b")], links: [link(id, "b")], peerings: [peering(id, "b")] },
      "light",
    );
    const texts = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
    expect(texts.slice(0, 4).join("")).to.contain(id);
    expect(texts).to.include.members(["1.3 ms", "CPU 0.5/4", "mem 8/8 Gi", "pods 0/110"]);
    expect(svg)
      .to.match(/class="bar-full"/)
      .and.match(/marker-end="url\(#arrow-good\)"/);
  });

  it("shows what is wrong: links that are down, clusters that do not answer", () => {
    const topology = {
      clusters: [cluster("a"), cluster("b", { error: "no <answer> & more" })],
      links: [link("a", "b", { status: "Unhealthy", roundTripMilliseconds: undefined, alerts: ['says "no"'] })],
      peerings: [],
    };
    const svg = topologySvg(topology, "dark");
    expect(svg)
      .to.contain("no &lt;answer&gt; &amp; more")
      .and.contain("not connected")
      .and.contain("says &quot;no&quot;");
    expect(unclosed(svg)).to.deep.equal([]);
    expect(topologyMermaid(topology))
      .to.contain("no #lt;answer#gt; #amp; more")
      .and.contain("linkStyle 0 stroke:#cf222e");
  });

  it("has colours for both backgrounds, and follows the reader's on demand", () => {
    const topology = { clusters: [cluster("a")], links: [], peerings: [] };
    expect(topologySvg(topology, "auto")).to.contain("prefers-color-scheme: dark");
    expect(topologySvg(topology, "light")).to.not.contain("prefers-color-scheme");
    expect(topologySvg(topology, "dark")).to.not.equal(topologySvg(topology, "light"));
  });

  it("is a Mermaid flowchart, too", () => {
    const topology = {
      clusters: [cluster("a"), cluster("b", { asked: false, version: undefined }), cluster("c")],
      links: [link("a", "b"), link("b", "c")],
      peerings: [peering("b", "a")],
    };
    expect(topologyMermaid(topology)).to.equal(`flowchart LR
  c0["<b>a</b><br/>0.1.0"]
  c1["<b>b</b><br/>not asked"]
  c2["<b>c</b><br/>0.1.0"]
  c1 ==>|"1.3 ms<br/>CPU 0.5/4, mem 8/8 Gi, pods 0/110"| c0
  c1 ---|"1.3 ms"| c2
  classDef healthy stroke:#1a7f37,stroke-width:2px
  classDef unhealthy stroke:#cf222e,stroke-width:2px
  classDef unknown stroke:#818b98,stroke-dasharray:4 3
  class c0 healthy
  class c1 unknown
  class c2 healthy
`);
  });

  it("writes amounts in the unit of what is granted", () => {
    const granted = { memory: "20480Mi", "nvidia.com/gpu": "1", cpu: "1500m", "ephemeral-storage": "0" };
    expect(amountsOf({ granted, used: { memory: "512Mi" } })).to.deep.equal([
      { label: "CPU", text: "1.5" },
      { label: "mem", text: "0.5/20 Gi", share: 0.025 },
      { label: "nvidia.com/gpu", text: "1" },
    ]);
    expect([0.0004, 0.4, 1.26, 37.4].map(formatMilliseconds)).to.deep.equal(["1 µs", "400 µs", "1.3 ms", "37 ms"]);
  });

  it("cuts and wraps texts to a width", () => {
    expect(fitted("short", 10, 100)).to.equal("short");
    expect(fitted("a".repeat(40), 10, 100)).to.match(/^a+…$/);
    expect(wrapped("one-two-three-four", 10, 60, 3).join("")).to.equal("one-two-three-four");
  });
});

/** Elements that were opened and not closed, or closed out of order. */
function unclosed(svg: string): string[] {
  const open: string[] = [];
  for (const [, end, name = "", closed] of svg.matchAll(/<(\/?)([a-zA-Z]+)(?:[^<>"]|"[^"<>]*")*?(\/?)>/g)) {
    if (end) {
      if (open.pop() !== name) return [`</${name}>`];
    } else if (!closed) open.push(name);
  }
  const stray = svg.replace(/<[^<>]*>/g, "").match(/[<>]|&(?!amp;|lt;|gt;|quot;)/);
  return stray ? [...open, stray[0]] : open;
}

describe("joining what clusters tell of each other", () => {
  const peer = (id: string, role: PeerInfo["info"]["role"], more: Partial<PeerInfo["network"]> = {}): PeerInfo => ({
    info: { clusterID: id, role },
    network: { status: "Healthy", CIDRs: {}, ...more },
    authentication: {
      status: "Healthy",
      APIServerAddr: "",
      resourceSlices: [{ name: "s", action: "Providing", accepted: true, resources: { cpu: "2" } }],
    },
    offloading: {
      status: "Healthy",
      virtualNodes: role === "Consumer" ? [] : [{ name: "n", status: "Healthy", secret: "", resources: { cpu: "2" } }],
    },
  });
  const view = (id: string, peers: PeerInfo[], roundTrip: number): ClusterView => ({
    info: {
      health: { healthy: true },
      local: { clusterID: id, version: "1", labels: {}, APIServerAddr: "" },
      peerings: { peers: [] },
    },
    peers: Object.fromEntries(peers.map((one) => [one.info.clusterID, one])),
    roundTrips: new Map(peers.map((one) => [one.info.clusterID, roundTrip])),
    usedOnNodes: new Map([["n", { cpu: "1", memory: "1Gi" }]]),
    usedByConsumers: new Map(peers.map((one) => [one.info.clusterID, { cpu: "500m" }])),
  });
  const gateway = (role: "Server" | "Client") => ({ gateway: { address: [], role } });

  it("tells a link once, as bad as the worse end says, and a peering as its consumer sees it", () => {
    const topology = mergeViews([
      { name: "x", view: view("a", [peer("b", "Provider", gateway("Client"))], 1) },
      {
        name: "y",
        view: view("b", [peer("a", "Consumer", { ...gateway("Server"), status: "Unhealthy", alerts: ["slow"] })], 3),
      },
    ]);
    expect(topology.links).to.deep.equal([
      { clusters: ["a", "b"], status: "Unhealthy", server: "b", roundTripMilliseconds: 2, alerts: ["slow"] },
    ]);
    expect(topology.peerings).to.have.length(1);
    expect(topology.peerings[0]?.virtualNodes).to.deep.equal([
      { name: "n", status: "Healthy", granted: { cpu: "2" }, used: { cpu: "1" } },
    ]);
  });

  it("tells of a link the same whichever end is asked first", () => {
    const ends = [
      { name: "x", view: view("a", [peer("b", "Provider", { status: "Unhealthy" })], 1) },
      { name: "y", view: view("b", [peer("a", "Consumer")], 3) },
    ];
    expect(mergeViews(ends).links[0]).to.include({ status: "Unhealthy" });
    expect(mergeViews([...ends].reverse())).to.deep.equal(mergeViews(ends));
  });

  it("knows consumers from the provider alone: their slices, and what runs for them", () => {
    const topology = mergeViews([
      { name: "y", view: view("b", [peer("a", "Consumer")], 3) },
      { name: "z", error: "no answer" },
    ]);
    expect(topology.clusters.map(({ clusterID, asked, error }) => [clusterID, asked, error])).to.deep.equal([
      ["a", false, undefined],
      ["b", true, undefined],
      ["z", true, "no answer"],
    ]);
    expect(topology.peerings).to.deep.equal([
      {
        consumer: "a",
        provider: "b",
        authenticationStatus: "Healthy",
        offloadingStatus: "Healthy",
        virtualNodes: [{ name: "s", status: "Healthy", granted: { cpu: "2" }, used: { cpu: "500m" } }],
      },
    ]);
  });

  it("reads durations of both letters for millionths", () => {
    expect(["1ms", "500\u03bcs", "500\u00b5s", "1m2s", "N/A", ""].map(parseDuration)).to.deep.equal([
      1,
      0.5,
      0.5,
      62_000,
      undefined,
      undefined,
    ]);
  });
});

import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type http from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { pino } from "pino";
import { controllerMetrics } from "../../../agent/controller/metrics.js";
import { fabricMetrics } from "../../../agent/fabric/metrics.js";
import { gatewayMetrics } from "../../../agent/gateway/metrics.js";
import { LevelLoop } from "../../../agent/net/index.js";
import { proxyMetrics } from "../../../agent/proxy/metrics.js";
import { startFiguresServer, startHealthServer } from "../../../agent/runtime/health.js";
import { createLogger } from "../../../agent/runtime/logger.js";
import { Controller } from "../../../agent/runtime/index.js";
import { processMetrics, type Metric } from "../../../agent/runtime/metrics.js";
import { startMetricsServer } from "../../../agent/virtual-node/metrics-server.js";
import { ReflectionCounters } from "../../../agent/virtual-node/reflection/reflection-counters.js";
import { until } from "../../clusters/support/wait.js";
import { freePorts } from "../../integration/support/programs.js";
import { REPOSITORY } from "../../support/lab.js";

const logger = pino({ level: "silent" });

const DASHBOARD = "docs/monitoring/grafana-dashboard.json";

const controller = controllerMetrics({
  isLeader: () => true,
  controllers: () => [{ name: "ip", passes: 3, failures: 1, seconds: 0.5, queued: 2 }],
  foreignClusters: () => [
    {
      metadata: { name: "b" },
      spec: { clusterID: "b" },
      status: {
        modules: {
          networking: { enabled: true, conditions: [{ type: "NetworkConnectionStatus", status: "Error" }] },
          authentication: { enabled: true, conditions: [{ type: "AuthTenantStatus", status: "Ready" }] },
          offloading: { enabled: false },
        },
      },
    } as never,
  ],
});
const fabric = fabricMetrics({ links: () => 2, passes: () => 5, failures: () => 1 });
const proxy = proxyMetrics(() => ({ open: 1, connected: 4, refused: 2, failed: 0 }));

/** As the gateway's table counts, with what is no drop. */
const COUNTERS = { "foreign-source": 7, "foreign-destination": 0, "gateway-access": 2, "handshake-requests": 9 };

function gateway(
  folder: string,
  connected = true,
  counters: () => Promise<Record<string, number>> = () => Promise.resolve(COUNTERS),
): Metric[] {
  return gatewayMetrics(
    {
      remoteClusterID: "b",
      device: "tunnel",
      implementation: () => "kernel",
      isActive: () => true,
      connection: () => ({ connected, latency: 1.5 }),
      counters,
    },
    folder,
  );
}

const samplesOf = async (metrics: Metric[], name: string) => [
  ...((await metrics.find((one) => one.name === name)?.samples()) ?? []),
];

describe("what the agent tells Prometheus", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "liqo-metrics-"));
  const servers: http.Server[] = [];
  before(() => {
    const statistics = path.join(folder, "tunnel/statistics");
    mkdirSync(statistics, { recursive: true });
    for (const name of ["rx_bytes", "tx_bytes", "rx_dropped", "tx_dropped"])
      writeFileSync(path.join(statistics, name), "42\n");
  });
  after(() => {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function scrape(server: http.Server): Promise<string> {
    servers.push(server);
    if (!server.listening) await new Promise((resolve) => server.once("listening", resolve));
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`);
    expect(response.status).to.equal(200);
    return response.text();
  }

  it("has a port of its own, with the process' own figures", async () => {
    const all = [...controller, ...gateway(folder), ...fabric, ...proxy];
    const server = startFiguresServer(all, 0, createLogger("test"));
    const text = await scrape(server);
    expect(text).to.match(/^process_resident_memory_bytes \d+$/m);
    expect(text).to.contain("# TYPE liqo_controller_reconcile_total counter");
    expect(text).to.contain('liqo_controller_reconcile_total{controller="ip"} 3');
    expect(text).to.contain('liqo_foreign_cluster_module_healthy{cluster_id="b",module="networking"} 0');
    expect(text).to.contain('liqo_foreign_cluster_module_healthy{cluster_id="b",module="authentication"} 1');
    expect(text).to.not.contain('module="offloading"');
    expect(text).to.contain('liqo_peer_latency_us{driver="wireguard",cluster_id="b"} 1500');
    expect(text).to.contain('liqo_peer_receive_bytes_total{driver="wireguard",cluster_id="b"} 42');
    expect(text).to.contain('liqo_gateway_dropped_packets_total{cluster_id="b",reason="foreign-source"} 7');
    expect(text).to.contain('liqo_gateway_dropped_packets_total{cluster_id="b",reason="foreign-destination"} 0');
    expect(text).to.contain('liqo_gateway_dropped_packets_total{cluster_id="b",reason="gateway-access"} 2');
    expect(text).to.not.contain("handshake-requests");
    expect(text).to.contain('liqo_wireguard_implementation{implementation="kernel"} 1');
    expect(text).to.contain('liqo_proxy_connections_total{result="refused"} 2');
    expect(text).to.contain("liqo_fabric_links 2");
    // Counters are read, not added up, by each scrape.
    expect(await scrape(server)).to.contain('liqo_controller_reconcile_total{controller="ip"} 3');
  });

  it("is served on the port after the probes', for as long as they are", async () => {
    const [port = 0] = await freePorts(1);
    const server = startHealthServer(() => false, port, [...fabric]);
    const get = (address: number, url: string) => fetch(`http://127.0.0.1:${address}${url}`);
    if (!server.listening) await once(server, "listening");
    expect((await get(port, "/readyz")).status).to.equal(503);
    expect((await get(port, "/healthz")).status).to.equal(200);
    expect(await (await get(port + 1, "/metrics")).text()).to.contain("liqo_fabric_links 2");
    expect((await get(port + 1, "/healthz")).status).to.equal(404);
    server.close();
    server.closeAllConnections();
    await once(server, "close");
    expect(
      await get(port + 1, "/metrics").then(
        () => "answered",
        () => "closed",
      ),
    ).to.equal("closed");
  });

  it("leaves out what is not known: the latency of a peer that does not answer, the bytes of a device that is not there, counts that cannot be read", async () => {
    const metrics = gateway("/nowhere", false, () => Promise.reject(new Error("nft: not permitted")));
    expect(await samplesOf(metrics, "liqo_peer_is_connected")).to.have.nested.property("[0].value", 0);
    for (const name of ["liqo_peer_latency_us", "liqo_peer_receive_bytes_total", "liqo_gateway_dropped_packets_total"])
      expect(await samplesOf(metrics, name)).to.deep.equal([]);
  });

  it("is looked up when it is asked for, once for all who ask at the same time", async () => {
    let looks = 0;
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const counters = async () => {
      looks += 1;
      await answered;
      return COUNTERS;
    };
    const server = startFiguresServer(gateway(folder, true, counters), 0, createLogger("test"));
    const counted = 'liqo_gateway_dropped_packets_total{cluster_id="b",reason="foreign-source"} 7';
    const first = scrape(server);
    await until("the first look", 5_000, () => Promise.resolve(looks === 1 || undefined));
    let arrived = 0;
    server.on("request", () => (arrived += 1));
    const others = [scrape(server), scrape(server)];
    await until("the other requests", 5_000, () => Promise.resolve(arrived === 2 || undefined));
    answer();
    for (const text of await Promise.all([first, ...others])) expect(text).to.contain(counted);
    expect(looks).to.equal(1);
    expect(await scrape(server)).to.contain(counted);
    expect(looks).to.equal(2);
  });

  it("counts the passes of controllers and of loops, and those that failed", async () => {
    const one = new Controller({
      name: "one",
      logger,
      reconcile: (key) => (key === "bad" ? Promise.reject(new Error("no")) : Promise.resolve()),
    });
    one.enqueue("good");
    one.enqueue("bad");
    expect(one.figures).to.deep.include({ name: "one", passes: 0, queued: 2 });
    one.start();
    await until("both passes", 5_000, () => Promise.resolve(one.figures.passes >= 2 || undefined));
    await one.stop();
    expect(one.figures.failures).to.be.at.least(1);
    expect(one.figures.seconds).to.be.greaterThan(0);
    let fails = true;
    const loop = new LevelLoop({
      logger,
      apply: () => {
        const outcome = fails ? Promise.reject(new Error("no")) : Promise.resolve();
        fails = false;
        return outcome;
      },
    });
    loop.start();
    await until("a pass after the failed one", 5_000, () => Promise.resolve(loop.figures.passes >= 2 || undefined));
    await loop.stop();
    expect(loop.figures).to.deep.equal({ passes: 2, failures: 1 });
  });

  it("is what the dashboard shows: every figure in it exists, with the labels that it asks for", async () => {
    const counters = new ReflectionCounters();
    const config = { foreignClusterId: "b", nodeName: "n" } as Parameters<typeof startMetricsServer>[1];
    const ofNode = await scrape(startMetricsServer("127.0.0.1:0", config, counters));
    const own = [...processMetrics(), ...controller, ...gateway(folder), ...fabric, ...proxy];
    const names = [
      ...own.map(({ name }) => name),
      ...[...ofNode.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name),
    ];
    const dashboard = readFileSync(path.join(REPOSITORY, DASHBOARD), "utf8");
    const { panels } = JSON.parse(dashboard) as { panels: { title: string; targets: { expr: string }[] }[] };
    const used = panels.flatMap(({ targets }) =>
      targets.flatMap(({ expr }) => expr.match(/\b(?:liqo|process)_\w+/g) ?? []),
    );
    expect(new Set(used).size).to.be.at.least(15);
    for (const name of used) expect(names).to.include(name);
    const shown = own.filter(({ name }) => used.includes(name)).map(({ name }) => name);
    const notShown = ["liqo_controller_is_leader", "liqo_wireguard_implementation", "process_start_time_seconds"];
    expect(own.map(({ name }) => name).filter((name) => !shown.includes(name))).to.have.members(notShown);
    for (const [, name = "", by = ""] of dashboard.matchAll(/(liqo_\w+)\{(\w+)=~/g)) {
      const labels = own.find((one) => one.name === name)?.labelNames;
      if (labels) expect(labels, name).to.include(by);
    }
  });
});

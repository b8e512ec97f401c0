import { expect } from "chai";
import { logParameterProblem } from "../../../agent/virtual-node/kubelet-api/container-logs.js";
import { ExpiringCache } from "../../../agent/virtual-node/kubelet-api/expiring-cache.js";
import {
  parseKubeletPath,
  remotePath,
  subresourcesOf,
  verbOf,
  type KubeletRoute,
} from "../../../agent/virtual-node/kubelet-api/kubelet-route.js";
import {
  CpuCounters,
  podUsages,
  resourceMetrics,
  statsSummary,
} from "../../../agent/virtual-node/kubelet-api/stats.js";

describe("kubelet API of a virtual node", () => {
  it("knows a kubelet's paths, with and without the pod's UID", () => {
    const exec = { kind: "exec", namespace: "ns", pod: "p", container: "c" };
    expect(parseKubeletPath("/exec/ns/p/c")).to.deep.equal(exec);
    expect(parseKubeletPath("/exec/ns/p/uid/c")).to.deep.equal(exec);
    expect(parseKubeletPath("/attach/ns/p/c")).to.deep.include({ kind: "attach" });
    expect(parseKubeletPath("/portForward/ns/p")).to.deep.equal({ kind: "portForward", namespace: "ns", pod: "p" });
    expect(parseKubeletPath("/portForward/ns/p/uid")).to.deep.equal({ kind: "portForward", namespace: "ns", pod: "p" });
    expect(parseKubeletPath("/containerLogs/ns/p/c")).to.deep.include({ kind: "logs" });
    expect(parseKubeletPath("/runningpods/")).to.deep.equal({ kind: "runningPods" });
    expect(parseKubeletPath("/metrics/resource")).to.deep.equal({ kind: "metrics", set: "resource" });
    for (const path of ["/", "/exec/ns/p", "/containerLogs/ns/p/uid/c", "/run/ns/p/c", "/logs/"]) {
      expect(parseKubeletPath(path), path).to.equal(undefined);
    }
  });

  it("translates parameters to the API's own", () => {
    const path = (url: string): string => {
      const { pathname, searchParams } = new URL(url, "https://k");
      return remotePath(parseKubeletPath(pathname) as Extract<KubeletRoute, { pod: string }>, "remote", searchParams);
    };
    expect(path("/exec/ns/p/c?command=sh&command=-c&command=a%20b&input=1&output=1&tty=1")).to.equal(
      "/api/v1/namespaces/remote/pods/p/exec?container=c&stdin=true&stdout=true&tty=true&command=sh&command=-c&command=a+b",
    );
    expect(path("/attach/ns/p/c?output=1&error=1&command=no")).to.equal(
      "/api/v1/namespaces/remote/pods/p/attach?container=c&stdout=true&stderr=true",
    );
    expect(path("/portForward/ns/p?port=80&port=81")).to.equal(
      "/api/v1/namespaces/remote/pods/p/portforward?ports=80&ports=81",
    );
    expect(path("/containerLogs/ns/p/c?follow=true&tailLines=0&other=1")).to.equal(
      "/api/v1/namespaces/remote/pods/p/log?container=c&follow=true&tailLines=0",
    );
  });

  it("asks for the rights that a kubelet asks for", () => {
    expect(subresourcesOf("/stats/summary")).to.deep.equal(["stats"]);
    expect(subresourcesOf("/metrics/resource")).to.deep.equal(["metrics"]);
    expect(subresourcesOf("/pods")).to.deep.equal(["pods", "proxy"]);
    expect(subresourcesOf("/healthz")).to.deep.equal(["healthz", "proxy"]);
    expect(subresourcesOf("/exec/ns/p/c")).to.deep.equal(["proxy"]);
    expect(verbOf("GET", parseKubeletPath("/exec/ns/p/c"))).to.equal("create");
    expect(verbOf("GET", parseKubeletPath("/containerLogs/ns/p/c"))).to.equal("get");
    expect(verbOf("POST", undefined)).to.equal("create");
  });

  it("refuses log parameters that contradict each other", () => {
    expect(logParameterProblem(new URLSearchParams("tailLines=0&follow=true"))).to.equal(undefined);
    expect(logParameterProblem(new URLSearchParams("sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z"))).to.be.a("string");
    expect(logParameterProblem(new URLSearchParams("tailLines=-1"))).to.contain("tailLines");
  });

  it("forgets decisions in time", () => {
    let now = 0;
    const cache = new ExpiringCache<boolean>(() => now);
    cache.set("a", false, 30);
    expect(cache.get("a")).to.equal(false);
    now = 31;
    expect(cache.get("a")).to.equal(undefined);
  });

  it("tells usage as rates in the summary and as counters in the metrics", () => {
    const pod = {
      metadata: { name: "web", namespace: "shop", uid: "u" },
      status: {
        containerStatuses: [
          {
            name: "main",
            image: "",
            imageID: "",
            ready: true,
            restartCount: 0,
            state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
          },
        ],
      },
    };
    const metrics = [
      {
        metadata: { name: "web", namespace: "remote" },
        containers: [{ name: "main", usage: { cpu: "250m", memory: "10Mi" } }],
      },
    ];
    const usages = podUsages([pod, { metadata: { name: "without" } }], metrics);
    expect(usages).to.have.length(1);
    const summary = statsSummary("node", { usages, at: 1_000 }) as {
      node: object;
      pods: { podRef: object; cpu: object }[];
    };
    expect(summary.pods[0]?.podRef).to.deep.equal({ name: "web", namespace: "shop", uid: "u" });
    expect(summary.node).to.have.nested.property("cpu.usageNanoCores", 250_000_000);
    expect(summary.node).to.have.nested.property("memory.workingSetBytes", 10_485_760);
    const counters = new CpuCounters();
    for (const at of [1_000, 5_000]) counters.advance({ usages, at });
    const text = resourceMetrics({ usages, failed: false, at: 5_000 }, counters);
    expect(text).to.contain('container_cpu_usage_seconds_total{container="main",namespace="shop",pod="web"} 1 5000');
    expect(text).to.contain("node_cpu_usage_seconds_total 1 5000");
    expect(text).to.contain("container_start_time_seconds").and.to.contain("scrape_error 0");
  });

  it("tells no zeros of what is there: metrics-server would take them for missing", () => {
    const text = resourceMetrics({ usages: [], failed: false, at: 1_000 }, new CpuCounters());
    expect(text).to.contain("node_cpu_usage_seconds_total 0.001 1000");
    expect(text).to.contain("node_memory_working_set_bytes 1 1000");
  });
});

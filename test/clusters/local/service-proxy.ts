import { setTimeout as delay } from "node:timers/promises";
import type { EndpointSlice } from "kubernetes-types/discovery/v1";
import type { Service } from "kubernetes-types/core/v1";
import { run } from "../support/exec.js";
import { connect, type Api } from "./api.js";
import { readRecord } from "./record.js";
import { serviceRules } from "./service-rules.js";
import { messageOf } from "../../../agent/runtime/kube-error.js";

/**
 * Services of a cluster without kube-proxy, on the node in whose network namespace it runs: plain address translation for cluster
 * addresses, node ports and load balancers, to any ready endpoint. Argument: the cluster's name.
 */
const SERVICES = "/api/v1/services";
const SLICES = "/apis/discovery.k8s.io/v1/endpointslices";
const RETRY_MS = 500;

interface List<T> {
  metadata: { resourceVersion: string };
  items: T[];
}

async function keepRules(cluster: string): Promise<never> {
  const record = readRecord(cluster);
  if (!record) throw new Error(`there is no cluster ${cluster}`);
  const api = connect(record);
  let text = "";
  for (;;) {
    try {
      const [services, slices] = await Promise.all([list<Service>(api, SERVICES), list<EndpointSlice>(api, SLICES)]);
      const wanted = serviceRules(services.items, slices.items, record.spec.podCIDR);
      if (wanted !== text) await run("nft", ["-f", "-"], { input: wanted });
      text = wanted;
      await nextChange(api, services.metadata.resourceVersion, slices.metadata.resourceVersion);
    } catch (error) {
      process.stderr.write(`${messageOf(error)}\n`);
      await delay(RETRY_MS);
    }
  }
}

async function list<T>(api: Api, path: string): Promise<List<T>> {
  const answer = await api.get<List<T>>(path);
  if (!answer) throw new Error(`${path}: not there`);
  return answer;
}

async function nextChange(api: Api, services: string, slices: string): Promise<void> {
  const abort = new AbortController();
  const watches = [api.changed(SERVICES, services, abort.signal), api.changed(SLICES, slices, abort.signal)];
  try {
    await Promise.race(watches);
  } finally {
    abort.abort();
    await Promise.allSettled(watches);
  }
}

void keepRules(process.argv[2] ?? "");

import http from "node:http";
import type { Ingress } from "kubernetes-types/networking/v1";
import {
  EndpointSliceResource,
  Informer,
  IngressResource,
  KubeClient,
  ServiceResource,
  keyOf,
  messageOf,
  sameJson,
} from "../../../agent/runtime/index.js";
import { readyEndpoints } from "./endpoints.js";
import { routeOf } from "./rules.js";

/**
 * An ingress controller as clusters have them, in a pod of its own: it watches Ingresses of one class, passes requests to ready endpoints of their Services in
 * turn, and writes the address of the Service that leads to itself into their status. Arguments: the class, that Service as NAMESPACE/NAME, and the port.
 */
const [ingressClass = "", ownService = "", port = ""] = process.argv.slice(2);

const RETRY_MS = 1_000;

const client = KubeClient.inCluster();
const ingresses = new Informer(client, IngressResource);
const services = new Informer(client, ServiceResource);
const slices = new Informer(client, EndpointSliceResource);

let turn = 0;

function served(): Ingress[] {
  return ingresses.list().filter(({ spec }) => spec?.ingressClassName === ingressClass);
}

/** In its own words what is wrong goes to whoever asked. */
function pass(request: http.IncomingMessage, response: http.ServerResponse): void {
  const fail = (status: number, why: string): void => void response.writeHead(status).end(`${why}\n`);
  const host = (request.headers.host ?? "").replace(/:\d+$/, "");
  const { pathname } = new URL(request.url ?? "/", "http://door");
  const route = routeOf(served(), host, pathname);
  const { name, port: wanted } = route?.backend.service ?? {};
  if (!route || !name) return fail(404, `no rule for ${host}${pathname}`);
  const key = `${route.namespace}/${name}`;
  const ofService = slices.list().filter(({ metadata }) => {
    return metadata?.namespace === route.namespace && metadata.labels?.["kubernetes.io/service-name"] === name;
  });
  const endpoints = readyEndpoints(services.get(key), ofService, wanted);
  const endpoint = endpoints[turn++ % endpoints.length];
  if (!endpoint) return fail(503, `Service ${key} has no ready endpoints`);
  const { method, url: path, headers } = request;
  const onward = http.request({ host: endpoint.address, port: endpoint.port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", (error) => {
    if (response.headersSent) response.destroy();
    else fail(502, `${endpoint.address}: ${error.message}`);
  });
  request.pipe(onward);
}

/** Ingresses are reached where the Service is that leads here. */
async function publish(): Promise<void> {
  const { ingress } = services.get(ownService)?.status?.loadBalancer ?? {};
  // Kubernetes adds to a Service's addresses what an Ingress' do not have.
  const wanted = ingress?.map(({ ip, hostname }) => ({ ...(ip ? { ip } : {}), ...(hostname ? { hostname } : {}) }));
  for (const { metadata, status } of served()) {
    if (!wanted || sameJson(status?.loadBalancer?.ingress, wanted)) continue;
    const { name = "", namespace } = metadata ?? {};
    const change = { status: { loadBalancer: { ingress: wanted } } };
    await client.mergePatch(IngressResource, { name, namespace }, change, { subresource: "status" });
  }
}

/** One at a time; each looks at all. */
let publishing = Promise.resolve();
function publishSoon(): void {
  publishing = publishing.then(publish).catch((error: unknown) => {
    console.error(messageOf(error));
    setTimeout(publishSoon, RETRY_MS);
  });
}

async function run(): Promise<void> {
  const informers = [ingresses, services, slices];
  ingresses.onEvent(({ type }) => type !== "deleted" && publishSoon());
  services.onEvent(({ object }) => keyOf(object) === ownService && publishSoon());
  for (const informer of informers) informer.start();
  await Promise.all(informers.map((informer) => informer.waitForSync()));
  http.createServer(pass).listen(Number(port));
}

run().catch((error: unknown) => {
  console.error(messageOf(error));
  process.exit(1);
});

import { z } from "zod";
import { PodResource } from "../../agent/runtime/index.js";
import type { LabCluster } from "./lab.js";

const line = z.object({
  role: z.string(),
  msg: z.string(),
  /** Of a change to an object. */
  resource: z.string().optional(),
  namespace: z.string().optional(),
  name: z.string().optional(),
  /** Of a change to a node's links, addresses, routes or tables. */
  program: z.string().optional(),
  change: z.string().optional(),
});
export type LogLine = z.infer<typeof line>;

/** What the agents of a cluster have told of changes, pod by pod, from namespaces that have no other pods. @throws Error for a line that is not one JSON object */
export async function changesTold(lab: LabCluster, namespaces: readonly string[]): Promise<LogLine[]> {
  const logs = namespaces.map(async (namespace) => {
    const { items } = await lab.client.list(PodResource, { namespace });
    const ofPods = items.map(({ metadata }) => lab.kubectl(["logs", "-n", namespace, metadata?.name ?? ""]));
    return (await Promise.all(ofPods)).flatMap((text) => text.split("\n").filter(Boolean));
  });
  return (await Promise.all(logs))
    .flat()
    .map((text) => line.parse(JSON.parse(text)))
    .filter(({ resource, program }) => resource ?? program);
}

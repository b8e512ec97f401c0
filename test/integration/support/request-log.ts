import { createReadStream } from "node:fs";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { AUDIT_POLICY } from "../../clusters/local/audit-policy.js";

/** What an API server was asked for, "VERB RESOURCE", and how often. */
export type Requests = Record<string, number>;

/** Where an API server writes down who asks it for what: it is started with these flags. */
export interface RequestLog {
  flags: string[];
  /** What a user has asked for since `begin`, which is the log's own beginning if that was never called. A watch counts when it begins. */
  requestsOf(user: string): Promise<Requests>;
  begin(): Promise<void>;
  remove(): Promise<void>;
}

export async function openRequestLog(): Promise<RequestLog> {
  const folder = await mkdtemp(join(tmpdir(), "liqo-requests-"));
  const [policy, log] = ["policy.json", "requests.log"].map((file) => join(folder, file)) as [string, string];
  await writeFile(policy, JSON.stringify(AUDIT_POLICY));
  let start = 0;
  return {
    flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`],
    requestsOf: (user) => readRequests(log, start, user),
    begin: async () => void (start = (await stat(log)).size),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function readRequests(log: string, start: number, user: string): Promise<Requests> {
  const requests: Requests = {};
  for await (const line of createInterface({ input: createReadStream(log, { start }) })) {
    const { stage, verb, user: by, objectRef } = JSON.parse(line) as AuditEvent;
    // A watch's end is told, too.
    const isOne = stage === (verb === "watch" ? "ResponseStarted" : "ResponseComplete");
    if (!isOne || by.username !== user || !objectRef) continue;
    const { resource, subresource } = objectRef;
    const request = `${verb} ${subresource ? `${resource}/${subresource}` : resource}`;
    requests[request] = (requests[request] ?? 0) + 1;
  }
  return requests;
}

/** https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/ */
interface AuditEvent {
  stage: string;
  verb: string;
  user: { username: string };
  objectRef?: { resource: string; subresource?: string };
}

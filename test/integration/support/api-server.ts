import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { crds } from "../../../agent/api/crd.js";
import { KubeClient, ServiceResource } from "../../../agent/runtime/index.js";
import { ensureTool, ensureTools } from "../../clusters/components/ensure.js";
import { until } from "../../clusters/support/wait.js";
import { createAuthority, createSigningKey, type Authority } from "./certificates.js";
import { installCrds } from "./install-crds.js";
import { freePorts, startProgram, type Program } from "./programs.js";

/**
 * For its readiness, which is what every suite waits for first. On a machine with much to do its start takes a minute and more; one whose process has
 * ended fails at once, whatever this is.
 */
const START_DEADLINE_MS = 240_000;

/** For hooks that start API servers and controllers, and peer: what is waited for has deadlines of its own, which say what it was. */
export const START_LIMIT_MS = START_DEADLINE_MS + 120_000;

export interface ApiServerOptions {
  /** Whether the custom resources are there. Default true. */
  crds?: boolean;
  /**
   * Controllers of the controller manager to run, by their names on its command line: "garbage-collector-controller",
   * "certificatesigningrequest-signing-controller", "namespace-controller", … Default none: quicker.
   */
  controllers?: string[];
  /** More of the API server's own flags. */
  flags?: string[];
  /** The cluster's name in the kubeconfig and in messages. Default "test". */
  name?: string;
}

/** A real API server with its own etcd, on loopback. No nodes: pods stay Pending. */
export interface ApiServer {
  /** An administrator's, as text. */
  kubeconfig: string;
  /** The same in a file, for programs; gone after stop. */
  kubeconfigPath: string;
  client: KubeClient;
  url: string;
  /** Signs clients' certificates. */
  authority: Authority;
  /** A kubeconfig of any user, by a certificate. */
  kubeconfigFor(user: string, groups?: string[]): Promise<string>;
  /** Kills the API server's process; what it stored stays. */
  crash(): Promise<void>;
  /** Starts it again after a crash, at the same address. Resolves when it is ready. */
  recover(): Promise<void>;
  /** Ends the processes and removes their files. */
  stop(): Promise<void>;
}

/** Another process may take a port between the look at it and its use. */
const ATTEMPTS = 3;

/** Starts an API server; a few seconds. Stop it in `after`. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryToStart(options);
    } catch (error) {
      if (attempt >= ATTEMPTS || !String(error).includes("address already in use")) throw error;
    }
  }
}

async function tryToStart(options: ApiServerOptions): Promise<ApiServer> {
  const folder = await mkdtemp(join(tmpdir(), "liqo-api-server-"));
  const programs: Program[] = [];
  const stop = async (): Promise<void> => {
    // The API server first: without its etcd it would wait for requests to end.
    for (const program of programs.reverse()) await program.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return { ...(await start(folder, programs, options)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(folder: string, programs: Program[], options: ApiServerOptions): Promise<Omit<ApiServer, "stop">> {
  const name = options.name ?? "test";
  const tools = await ensureTools(["etcd", "kube-apiserver"]);
  const [etcdPort = 0, peerPort = 0, securePort = 0] = await freePorts(3);
  const authority = await createAuthority(`${name}-ca`);
  await writeFiles(folder, authority);

  const url = `https://127.0.0.1:${securePort}`;
  const kubeconfigFor = async (user: string, groups: string[] = []): Promise<string> =>
    kubeconfigText(name, url, authority, user, groups);
  const kubeconfig = await kubeconfigFor("kubernetes-admin", ["system:masters"]);
  const client = KubeClient.fromText(kubeconfig);

  programs.push(startProgram(tools.etcd, etcdArguments(folder, etcdPort, peerPort)));
  const flags = [...apiServerArguments(folder, etcdPort, securePort), ...(options.flags ?? [])];
  const startServer = async (): Promise<Program> => {
    const program = startProgram(tools["kube-apiserver"], flags);
    programs.push(program);
    const outcome = await until("the API server's readiness", START_DEADLINE_MS, () => readiness(client, programs));
    if (outcome.failure) throw new Error(`the API server did not start: ${outcome.failure}`);
    return program;
  };
  let server = await startServer();
  const kubeconfigPath = join(folder, "admin.kubeconfig");
  await writeFile(kubeconfigPath, kubeconfig, { mode: 0o600 });
  if (options.controllers?.length) {
    const controllerManager = await ensureTool("kube-controller-manager");
    programs.push(startProgram(controllerManager, controllerArguments(folder, kubeconfigPath, options.controllers)));
  }
  if (options.crds !== false) await installCrds(client, crds());
  const crash = async (): Promise<void> => {
    programs.splice(programs.indexOf(server), 1);
    await server.stop();
  };
  const recover = async (): Promise<void> => void (server = await startServer());
  return { kubeconfig, kubeconfigPath, client, url, authority, kubeconfigFor, crash, recover };
}

/** Nothing while it may still become ready; a program that has ended never will. */
async function readiness(client: KubeClient, programs: Program[]): Promise<{ failure?: string } | undefined> {
  const failure = programs.map((program) => program.failure()).find((reason) => reason !== undefined);
  if (failure) return { failure };
  if ((await client.text("/readyz")) !== "ok") return undefined;
  // The last of what an API server makes by itself, a moment after it says that it is ready: else it would be found as something added since.
  return (await client.get(ServiceResource, { name: "kubernetes", namespace: "default" })) ? {} : undefined;
}

async function writeFiles(folder: string, authority: Authority): Promise<void> {
  const serving = await authority.issue("CN=kube-apiserver", { ip: ["127.0.0.1"], dns: ["localhost"] });
  const files = {
    "ca.crt": authority.certificate,
    "ca.key": authority.key,
    "apiserver.crt": serving.certificate,
    "apiserver.key": serving.key,
    "service-account.key": createSigningKey(),
  };
  await Promise.all(
    Object.entries(files).map(([file, content]) => writeFile(join(folder, file), content, { mode: 0o600 })),
  );
}

function etcdArguments(folder: string, port: number, peerPort: number): string[] {
  return [
    `--data-dir=${join(folder, "etcd")}`,
    `--listen-client-urls=http://127.0.0.1:${port}`,
    `--advertise-client-urls=http://127.0.0.1:${port}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-cluster=default=http://127.0.0.1:${peerPort}`,
    "--unsafe-no-fsync",
    "--log-level=error",
  ];
}

function apiServerArguments(folder: string, etcdPort: number, port: number): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${port}`,
    // Loopback is refused as an endpoint address.
    "--endpoint-reconciler-type=none",
    `--tls-cert-file=${join(folder, "apiserver.crt")}`,
    `--tls-private-key-file=${join(folder, "apiserver.key")}`,
    `--client-ca-file=${join(folder, "ca.crt")}`,
    `--service-account-key-file=${join(folder, "service-account.key")}`,
    `--service-account-signing-key-file=${join(folder, "service-account.key")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-cluster-ip-range=10.91.0.0/16",
    "--authorization-mode=RBAC",
    // No controller makes the default service account.
    "--disable-admission-plugins=ServiceAccount",
    "--allow-privileged=true",
  ];
}

function controllerArguments(folder: string, kubeconfig: string, controllers: string[]): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllers.join(",")}`,
    `--cluster-signing-cert-file=${join(folder, "ca.crt")}`,
    `--cluster-signing-key-file=${join(folder, "ca.key")}`,
    `--root-ca-file=${join(folder, "ca.crt")}`,
    `--service-account-private-key-file=${join(folder, "service-account.key")}`,
    "--leader-elect=false",
    // No port of its own.
    "--secure-port=0",
  ];
}

async function kubeconfigText(
  cluster: string,
  server: string,
  authority: Authority,
  user: string,
  groups: string[],
): Promise<string> {
  const subject = [`CN=${user}`, ...groups.map((group) => `O=${group}`)].join(",");
  const { certificate, key } = await authority.issue(subject);
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: cluster, cluster: { server, "certificate-authority-data": base64(authority.certificate) } }],
    users: [{ name: user, user: { "client-certificate-data": base64(certificate), "client-key-data": base64(key) } }],
    contexts: [{ name: cluster, context: { cluster, user } }],
    "current-context": cluster,
  });
}

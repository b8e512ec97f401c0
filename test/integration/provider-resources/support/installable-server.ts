import { setMaxListeners } from "node:events";
import { startApiServer, type ApiServer } from "../../support/api-server.js";
import { endNamespaces } from "./namespace-ends.js";
import { simulateInstallation } from "./simulated-installation.js";

/** A real API server on which an Agent comes up and goes again: workloads count as running, what they owned is collected, and namespaces end. */
export async function startInstallableServer(name: string): Promise<ApiServer> {
  const server = await startApiServer({ name, controllers: ["garbage-collector-controller"] });
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  const simulated = [simulateInstallation(server.client, ended.signal), endNamespaces(server.client, ended.signal)];
  const stop = async (): Promise<void> => {
    ended.abort();
    await Promise.allSettled(simulated);
    await server.stop();
  };
  return { ...server, stop };
}

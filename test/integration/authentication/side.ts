import { startApiServer, type ApiServer } from "../support/api-server.js";
import { ControllerProcess } from "../support/controller-process.js";
import type { Peer } from "./peering.js";

/** A cluster whose controller runs as an installation runs it, in a process of its own. */
export interface Side extends Peer {
  server: ApiServer;
  controller: ControllerProcess;
  stop(): Promise<void>;
}

export interface SideOptions {
  /** A folder for the controller's kubeconfig. */
  folder: string;
  /** Where the controller, and consumers, find the API server. Default: the server itself. */
  url?: (server: ApiServer) => string | Promise<string>;
  /** Controllers of Kubernetes' own beside those that sign certificates and collect garbage. */
  controllers?: readonly string[];
}

/** @param id the cluster's ID and name */
export async function startSide(id: string, { folder, url, controllers = [] }: SideOptions): Promise<Side> {
  const server = await startApiServer({
    name: id,
    controllers: ["certificatesigningrequest-signing-controller", "garbage-collector-controller", ...controllers],
  });
  const controller = await ControllerProcess.install(server, { clusterId: id, url: await url?.(server), folder });
  const stop = async (): Promise<void> => {
    await controller.stop();
    await server.stop();
  };
  return { id, server, client: server.client, controller, stop };
}

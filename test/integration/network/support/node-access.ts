import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Namespace } from "./namespaces.js";

/** Listens where the API server does in the test's own network, and passes on to a socket in the file system, which all network namespaces share. */
const RELAY = `
const net = require("node:net");
net.createServer((near) => {
  const far = net.connect(process.argv[2]);
  for (const [one, other] of [[near, far], [far, near]]) one.on("error", () => other.destroy()).on("close", () => other.destroy()).pipe(other);
}).listen(Number(process.argv[1]), "127.0.0.1", () => console.log("listening"));`;

/** A namespace's way to an API server on the test's own loopback, under the same address. It can be cut, as a node's network may be. */
export class NodeAccess {
  /** While cut, nothing is passed on, and nobody is told: as on a network that loses everything. */
  private isCut = false;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly close: () => Promise<void>) {}

  static async open(namespace: Namespace, url: string): Promise<NodeAccess> {
    const port = new URL(url).port;
    const folder = await mkdtemp(join(tmpdir(), "liqo-node-access-"));
    const path = join(folder, "api.sock");
    const server = createServer((near) => access.pass(near, Number(port)));
    const access = new NodeAccess(async () => {
      server.close();
      for (const socket of access.sockets) socket.destroy();
      await rm(folder, { recursive: true, force: true });
    });
    server.listen(path);
    await once(server, "listening");
    const relay = namespace.start(process.execPath, ["-e", RELAY, port, path]);
    if (relay.stdout) await once(relay.stdout, "data");
    return access;
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.pause();
  }

  /** New connections pass; those from before stay dead, as no end of them has ever been told. */
  mend(): void {
    this.isCut = false;
  }

  async end(): Promise<void> {
    await this.close();
  }

  private pass(near: Socket, port: number): void {
    const far = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(one);
      one.on("data", (data) => (this.isCut ? undefined : other.write(data)));
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
      if (this.isCut) one.pause();
    }
  }
}

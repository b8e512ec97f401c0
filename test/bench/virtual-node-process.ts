import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { TENANT, NODE, virtualNodeArguments } from "../integration/virtual-node/harness.js";
import type { ApiServer } from "../integration/support/api-server.js";
import { freePorts, startProgram, type Program } from "../integration/support/programs.js";
import { REPOSITORY } from "../support/lab.js";
import { text } from "./pod-processes.js";

const GROUPS = ["system:serviceaccounts", "system:authenticated"];

/** A virtual node's process as its pod runs it, with its account's rights. */
export class VirtualNodeProcess {
  private program?: Program;
  private readonly folder = mkdtempSync(path.join(os.tmpdir(), "liqo-bench-virtual-node-"));

  constructor(private readonly consumer: ApiServer) {}

  async start(): Promise<void> {
    const kubeconfig = path.join(this.folder, "kubeconfig");
    const account = `system:serviceaccount:${TENANT}:vk-${NODE}`;
    writeFileSync(kubeconfig, await this.consumer.kubeconfigFor(account, GROUPS), { mode: 0o600 });
    const [kubeletPort = 0, healthPort = 0] = await freePorts(2);
    const environment = { KUBECONFIG: kubeconfig, POD_NAME: `vk-${NODE}-0`, VIRTUALNODE_NAME: NODE };
    this.program = startProgram("env", [
      ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      process.execPath,
      path.join(REPOSITORY, "dist/agent/agent.cjs"),
      "virtual-node",
      ...virtualNodeArguments(kubeletPort, healthPort),
    ]);
  }

  async stop(): Promise<void> {
    await this.program?.stop();
    this.program = undefined;
  }

  /** Its resident memory in MiB: all that it would take where no other process shares Node's own. @throws Error when it does not run */
  async memory(): Promise<number> {
    const failure = this.program?.failure();
    if (!this.program?.pid || failure) throw new Error(`the virtual node does not run: ${failure ?? "not started"}`);
    const status = await text(`/proc/${this.program.pid}/status`);
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

import { spawn, type ChildProcess } from "node:child_process";
import { access } from "node:fs/promises";
import { CommandError, ipBatch, ipQuery, type Run } from "../net/index.js";
import { delay } from "../runtime/backoff.js";
import { TUNNEL_PREFIX } from "./constants.js";
import type { TunnelState } from "./state.js";

export type Implementation = "kernel" | "userspace";

export interface TunnelDeviceOptions {
  run: Run;
  tunnel: TunnelState;
  /** Set: do not try the other one. */
  implementation?: Implementation;
  /** Starts wireguard-go, which makes the device and serves it until it ends. */
  startUserspace?: (device: string) => ChildProcess;
  /** Whether wireguard-go has made the device and listens. Default: looks for its control socket. */
  isServed?: (device: string) => Promise<boolean>;
  /** Told what the userspace implementation complains about. */
  onWords?: (words: string) => void;
  /** Called when the userspace implementation has ended by itself. */
  onExit: (reason: string) => void;
}

/** It stays in the foreground, without the banner that it prints for people. */
export const WIREGUARD_GO_ENVIRONMENT = { LOG_LEVEL: "error", WG_PROCESS_FOREGROUND: "1" };

/** Starts wireguard-go of this image in the foreground. */
export function startWireGuardGo(device: string): ChildProcess {
  return spawn("wireguard-go", ["-f", device], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...WIREGUARD_GO_ENVIRONMENT },
  });
}

const DEADLINE_MS = 10_000;

/**
 * Makes the tunnel's device: by the kernel's WireGuard where it has it, else by wireguard-go on a TUN device (network
 * specification, §15). A device that a former container of the pod has left is used again if the kernel serves it.
 */
export async function createTunnelDevice(options: TunnelDeviceOptions): Promise<Implementation> {
  const { run, tunnel } = options;
  const implementation = await makeDevice(options);
  await ipBatch(run, [
    `link set dev ${tunnel.device} mtu ${tunnel.mtu}`,
    `addr replace ${tunnel.address}/${TUNNEL_PREFIX} dev ${tunnel.device}`,
    `link set dev ${tunnel.device} up`,
  ]);
  return implementation;
}

async function makeDevice(options: TunnelDeviceOptions): Promise<Implementation> {
  const { run, tunnel, implementation } = options;
  if (implementation !== "userspace") {
    if (await isKernelDevice(run, tunnel.device)) return "kernel";
    try {
      await run("ip", ["link", "add", "dev", tunnel.device, "type", "wireguard"]);
      return "kernel";
    } catch (error) {
      if (implementation === "kernel" || !isUnsupported(error)) throw error;
    }
  }
  await userspaceDevice(options);
  return "userspace";
}

async function isKernelDevice(run: Run, device: string): Promise<boolean> {
  const links = await ipQuery<{ ifname?: string }>(run, ["link", "show", "type", "wireguard"]).catch(() => []);
  return links.some(({ ifname }) => ifname === device);
}

function isUnsupported(error: unknown): boolean {
  return error instanceof CommandError && /unknown device type|not supported|garbage/i.test(error.standardError);
}

async function userspaceDevice(options: TunnelDeviceOptions): Promise<void> {
  const { tunnel, startUserspace = startWireGuardGo, isServed = hasControlSocket, onExit } = options;
  const child = startUserspace(tunnel.device);
  let ended: string | undefined;
  let lastWords = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      lastWords = `${lastWords}${text}`.slice(-500);
      options.onWords?.(text.trim());
    });
  }
  const finish = (reason: string): void => {
    if (ended !== undefined) return;
    ended = reason;
    onExit(reason);
  };
  child.once("error", (error) => finish(`wireguard-go cannot be started: ${error.message}`));
  child.once("close", (code, signal) => {
    finish(`wireguard-go ended (${signal ?? `exit code ${code}`})${said(lastWords)}`);
  });
  const deadline = Date.now() + DEADLINE_MS;
  // Milliseconds: a watch of the folder would cost more.
  while (!(await isServed(tunnel.device))) {
    if (ended !== undefined) throw new Error(ended);
    if (Date.now() > deadline)
      throw new Error(`wireguard-go: no device ${tunnel.device} within ${DEADLINE_MS / 1000} s${said(lastWords)}`);
    await delay(5);
  }
}

/** What it printed, as the end of a message. */
function said(words: string): string {
  const text = words.trim().replaceAll(/\s*\n\s*/g, "; ");
  return text === "" ? "" : `: ${text}`;
}

/** Its control socket comes last, after the device. */
async function hasControlSocket(device: string): Promise<boolean> {
  return access(`/var/run/wireguard/${device}.sock`).then(
    () => true,
    () => false,
  );
}

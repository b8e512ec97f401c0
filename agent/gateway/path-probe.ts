import dgram from "node:dgram";
import { isIP } from "node:net";
import { ipQuery, type Run } from "../net/index.js";
import { delay } from "../runtime/backoff.js";
import { PATH_PROBE_PORT, WIREGUARD_OVERHEAD } from "./constants.js";
import { splitEndpoint } from "./endpoint-text.js";

/** What is known of packets of the tunnel's full size. */
export interface PathVerdict {
  /** `fragmented`: they pass, but only cut in pieces outside the tunnel; `lost`: they do not pass; `unknown`: the peer does not answer. */
  state: "fits" | "fragmented" | "lost" | "unknown";
  /** The largest packet that passes in one piece, in bytes, where the state is neither `fits` nor `unknown`. */
  largest?: number;
}

/** IP and UDP headers within the tunnel. */
const HEADERS = 28;
const MARK = Buffer.from("liqo-path");
const ANSWER_MARK = Buffer.from("liqo-size");
/** Every IPv4 host takes packets of this size. */
const SMALLEST = 576;
const PRECISION = 10;
const TRIES = 3;
const TRY_MS = 250;

/** Answers the peer's probes: which size has arrived. */
export class PathProbeResponder {
  private readonly socket = dgram.createSocket("udp4");

  constructor(private readonly port = PATH_PROBE_PORT) {}

  async listen(): Promise<void> {
    this.socket.on("error", () => undefined);
    this.socket.on("message", (datagram, { port, address }) => {
      if (datagram.subarray(0, MARK.length).equals(MARK)) {
        this.socket.send(answerTo(datagram.length), port, address, () => undefined);
      }
    });
    await new Promise<void>((resolve) => this.socket.bind(this.port, "0.0.0.0", resolve));
  }

  close(): void {
    this.socket.close();
  }
}

function answerTo(length: number): Buffer {
  const size = Buffer.alloc(2);
  size.writeUInt16BE(length + HEADERS);
  return Buffer.concat([ANSWER_MARK, size]);
}

/**
 * Finds out whether packets as large as the tunnel's MTU reach the peer (network specification, §15). A peer that knows no probes refuses them, which
 * shows as well that they have arrived.
 */
export async function probePath(
  { peerAddress, mtu, port = PATH_PROBE_PORT }: { peerAddress: string; mtu: number; port?: number },
  signal: AbortSignal,
): Promise<PathVerdict> {
  const passes = await openProbe(peerAddress, port, signal);
  try {
    if (await passes(mtu)) return { state: "fits" };
    if (!(await passes(SMALLEST)) || signal.aborted) return { state: "unknown" };
    let [good, bad] = [SMALLEST, mtu];
    while (bad - good > PRECISION && !signal.aborted) {
      const middle = Math.floor((good + bad) / 2);
      if (await passes(middle)) good = middle;
      else bad = middle;
    }
    return { state: "lost", largest: good };
  } finally {
    passes.close();
  }
}

interface Probe {
  (size: number): Promise<boolean>;
  close(): void;
}

async function openProbe(address: string, port: number, signal: AbortSignal): Promise<Probe> {
  const socket = dgram.createSocket("udp4");
  let arrived: (size: number | undefined) => void = () => undefined;
  // Refusal tells no size; one size is tried at a time.
  socket.on("error", (error: NodeJS.ErrnoException) => error.code === "ECONNREFUSED" && arrived(undefined));
  socket.on("message", (datagram) => {
    if (datagram.subarray(0, ANSWER_MARK.length).equals(ANSWER_MARK))
      arrived(datagram.readUInt16BE(ANSWER_MARK.length));
  });
  await new Promise<void>((resolve) => socket.connect(port, address, resolve));
  const passes = async (size: number): Promise<boolean> => {
    const answered = new AbortController();
    arrived = (answer) => {
      if (answer === undefined || answer === size) answered.abort();
    };
    const datagram = Buffer.concat([MARK], size - HEADERS);
    for (let left = TRIES; left > 0 && !answered.signal.aborted && !signal.aborted; left -= 1) {
      socket.send(datagram, () => undefined);
      await delay(TRY_MS, AbortSignal.any([answered.signal, signal]));
    }
    return answered.signal.aborted;
  };
  return Object.assign(passes, { close: () => socket.close() });
}

interface RouteAnswer {
  dev?: string;
  metrics?: { mtu?: number }[];
}

/** The largest packet that the tunnel can carry to an endpoint in one piece, from what the kernel knows of the way there. */
export async function largestUnfragmented(run: Run, endpoint: string): Promise<number | undefined> {
  const { address } = splitEndpoint(endpoint);
  if (isIP(address) !== 4) return undefined;
  const [route] = await ipQuery<RouteAnswer>(run, ["route", "get", address]);
  const [link] = route?.dev ? await ipQuery<{ mtu?: number }>(run, ["link", "show", "dev", route.dev]) : [];
  const known = [link?.mtu, ...(route?.metrics ?? []).map(({ mtu }) => mtu)].filter((mtu) => mtu !== undefined);
  return known.length > 0 ? Math.min(...known) - WIREGUARD_OVERHEAD : undefined;
}

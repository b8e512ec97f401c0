import type { ControllerContext } from "./context.js";

/** Tells who looks after peers' reachability that a connection to one has broken, so that it looks now and not at its next turn. */
export class PeerSignals {
  private readonly listeners: ((clusterID: string) => void)[] = [];

  onTrouble(listener: (clusterID: string) => void): void {
    this.listeners.push(listener);
  }

  reportTrouble(clusterID: string): void {
    for (const listener of this.listeners) listener(clusterID);
  }
}

const signals = new WeakMap<ControllerContext, PeerSignals>();

/** The signals that the areas of one controller share. */
export function peerSignals(context: ControllerContext): PeerSignals {
  const present = signals.get(context) ?? new PeerSignals();
  signals.set(context, present);
  return present;
}

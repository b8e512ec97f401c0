import type { KubeObject } from "../../../runtime/index.js";

/** Remembers what was applied to an object, so that an unchanged wish for an unchanged object costs no request. */
export class AppliedMemory {
  private readonly entries = new Map<string, { wish: string; uid?: string; generation?: number }>();

  isCurrent(key: string, wish: object, present: KubeObject | undefined): boolean {
    const entry = this.entries.get(key);
    return (
      entry !== undefined &&
      present !== undefined &&
      entry.uid === present.metadata?.uid &&
      entry.generation === present.metadata?.generation &&
      entry.wish === JSON.stringify(wish)
    );
  }

  remember(key: string, wish: object, result: KubeObject): void {
    const { uid, generation } = result.metadata ?? {};
    this.entries.set(key, { wish: JSON.stringify(wish), uid, generation });
  }

  forget(key: string): void {
    this.entries.delete(key);
  }
}

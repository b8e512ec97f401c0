/** Whether a Pod, or a ShadowPod, has run to its end: it takes nothing any more, and is never started again. */
export function hasEnded({ status }: { status?: { phase?: string } }): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

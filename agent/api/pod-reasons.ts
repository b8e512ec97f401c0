/** What `status.reason` of a pod on a virtual node says of a pod that does not run at the provider (offloading specification, §6). */
export const PodReasons = {
  /** Its namespace is not offloaded there; it has not begun. */
  backOff: "OffloadingBackOff",
  /** Its namespace is not offloaded there any more; it is given up. */
  aborted: "OffloadingAborted",
  /** Ours. The provider has made it anew, which its restart policy does not allow. */
  replaced: "RemotePodReplaced",
  /** Ours. The provider does not take it, for now. */
  refused: "OffloadingRefused",
} as const;

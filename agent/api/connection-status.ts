/** Whether packets of the tunnel's full size pass: yes, only in fragments, or not at all; unknown while the peer does not tell. */
export const FullSizePackets = { pass: "Pass", fragmented: "Fragmented", lost: "Lost", unknown: "Unknown" } as const;

/** The values of a Connection's status. */
export const ConnectionValue = { connected: "Connected", connecting: "Connecting", error: "Error" } as const;

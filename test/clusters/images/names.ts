import { toolVersion } from "../components/ensure.js";

/** Images made here have names that no registry serves. */
const PREFIX = "localhost/pulumi-liqo";

export const PAUSE_IMAGE = `${PREFIX}/pause:1`;
/** BusyBox with all its programs, iperf3 and wget: for pods that serve, ask and measure. */
export const TEST_TOOLS_IMAGE = `${PREFIX}/test-tools:1`;
export const coreDnsImage = (): string => `${PREFIX}/coredns:${toolVersion("coredns")}`;
export const metricsServerImage = (): string => `${PREFIX}/metrics-server:${toolVersion("metrics-server")}`;

import { pino, type Logger } from "pino";

export type { Logger };

/** Structured logs on standard output, one line per change; LOG_LEVEL chooses the level (default info). */
export function createLogger(name: string): Logger {
  return pino({
    name,
    level: process.env["LOG_LEVEL"] ?? "info",
    base: { role: name },
    timestamp: pino.stdTimeFunctions.isoTime,
    // Nothing that may hold key material is ever printed, whatever object a call passes.
    redact: { paths: ["*.data", "*.stringData", "*.kubeconfig", "*.privateKey", "*.token"], censor: "[secret]" },
  });
}

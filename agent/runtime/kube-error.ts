import type { Status } from "kubernetes-types/meta/v1";

/** Why a request to an API server failed; `code` 0 means that no answer came. */
export class KubeError extends Error {
  constructor(
    message: string,
    /** HTTP status, 0 when the server gave none. */
    readonly code: number,
    /** The Status reason, for example "NotFound", "AlreadyExists", "Conflict"; "Unreachable" or "Timeout" when no answer came. */
    readonly reason: string,
    /** The cluster as the user knows it. */
    readonly cluster: string,
    readonly status?: Status,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "KubeError";
  }

  /** By name: what is loaded when first needed may have come with a copy of this module. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === "KubeError";
  }
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof KubeError && error.code === code;
}

export const isNotFound = (error: unknown): boolean => hasCode(error, 404);
export const isConflict = (error: unknown): boolean => hasCode(error, 409);
export const isForbidden = (error: unknown): boolean => hasCode(error, 403);
export const isGone = (error: unknown): boolean => hasCode(error, 410);
export const isInvalid = (error: unknown): boolean => hasCode(error, 422);
export const isAlreadyExists = (error: unknown): boolean =>
  error instanceof KubeError && error.code === 409 && error.reason === "AlreadyExists";
/** The server has understood and will not: trying the same again is of no use until something changes. */
export const isRefused = (error: unknown): boolean =>
  error instanceof KubeError && [400, 403, 405, 413, 422].includes(error.code);
/** No answer at all: refused, not resolvable, reset, timed out. */
export const isUnreachable = (error: unknown): boolean => hasCode(error, 0);

/** The text of anything thrown, without a stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

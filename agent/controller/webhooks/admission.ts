import type { KubeObject } from "../../runtime/index.js";

/** Who sent a request, as the API server has authenticated them. */
export interface UserInfo {
  username?: string;
  groups?: string[];
}

/** The part of admission.k8s.io/v1 AdmissionRequest that handlers read. */
export interface AdmissionRequest<T extends KubeObject = KubeObject> {
  uid: string;
  operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  name?: string;
  namespace?: string;
  userInfo: UserInfo;
  object?: T | null;
  oldObject?: T | null;
  dryRun?: boolean;
}

/** One operation of a JSON patch (RFC 6902). */
export interface PatchOperation {
  op: "add" | "remove" | "replace";
  path: string;
  value?: unknown;
}

export interface AdmissionAnswer {
  allowed: boolean;
  /** HTTP status of a refusal. */
  code?: number;
  message?: string;
  patch?: PatchOperation[];
  /** Shown to the person who sent the request. */
  warnings?: string[];
}

export type AdmissionHandler = (request: AdmissionRequest) => AdmissionAnswer | Promise<AdmissionAnswer>;

export function allow(warnings: string[] = []): AdmissionAnswer {
  return warnings.length > 0 ? { allowed: true, warnings } : { allowed: true };
}

/** A refusal: 403 unless another code says more. */
export function deny(message: string, code = 403): AdmissionAnswer {
  return { allowed: false, code, message };
}

/** Allows with changes; no operation means no change. */
export function mutate(patch: PatchOperation[]): AdmissionAnswer {
  return patch.length > 0 ? { allowed: true, patch } : allow();
}

/** The operations that set labels; those which have the value already are left out. */
export function labelPatch(object: KubeObject, labels: Record<string, string>): PatchOperation[] {
  const present = object.metadata?.labels;
  const missing = Object.entries(labels).filter(([key, value]) => present?.[key] !== value);
  if (missing.length === 0) return [];
  if (!present) return [{ op: "add", path: "/metadata/labels", value: Object.fromEntries(missing) }];
  return missing.map(([key, value]) => ({ op: "add", path: `/metadata/labels/${pointerPart(key)}`, value }));
}

/** Escapes a key for a JSON pointer (RFC 6901). */
export function pointerPart(key: string): string {
  return key.replace(/~/g, "~0").replace(/\//g, "~1");
}

/** The body that the API server expects back: an AdmissionReview of the same version. */
export function reviewOf(uid: string, answer: AdmissionAnswer): object {
  const { allowed, code, message, patch, warnings } = answer;
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: {
      uid,
      allowed,
      ...(warnings ? { warnings } : {}),
      ...(message === undefined ? {} : { status: { code, message } }),
      ...(patch ? { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") } : {}),
    },
  };
}

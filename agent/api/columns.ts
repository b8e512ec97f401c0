import type { PrinterColumn } from "./crd-manifest.js";

export const AGE: PrinterColumn = { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" };

export function column(name: string, jsonPath: string, type: PrinterColumn["type"] = "string"): PrinterColumn {
  return { name, type, jsonPath };
}

/** A column that only `-o wide` shows. */
export function wideColumn(name: string, jsonPath: string, type: PrinterColumn["type"] = "string"): PrinterColumn {
  return { name, type, jsonPath, wide: true };
}

/** The status of the condition of that type. */
export function conditionPath(type: string): string {
  return `.status.conditions[?(@.type=="${type}")].status`;
}

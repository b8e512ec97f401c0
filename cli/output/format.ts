import { stringify } from "yaml";

export type DataFormat = "json" | "yaml";

export function formatData(value: unknown, format: DataFormat): string {
  return format === "json" ? `${JSON.stringify(value, null, 2)}\n` : stringify(value, { lineWidth: 0 });
}

/** One field: a scalar bare, for scripts; anything else in the format asked for, by default YAML. */
export function formatField(value: unknown, format: DataFormat = "yaml"): string {
  return typeof value === "string" ? `${value}\n` : formatData(value, format);
}

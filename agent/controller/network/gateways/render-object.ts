import { isZero, renderTemplate, singleAction } from "./go-template.js";

/** Maps of these names hold text only. */
const TEXT_MAPS = new Set(["labels", "annotations", "matchLabels", "nodeSelector", "selector"]);
/** Fields of these names, and lists under them, are text whatever they look like. */
const TEXT_FIELDS = new Set(["name", "namespace", "value", "args", "command", "image"]);

/**
 * Renders every string of a template (network specification, §5.1): a result that is a whole integer becomes a number, except
 * where Kubernetes wants text; a key `?x` becomes `x` if its one action has a value, and is left out otherwise.
 */
export function renderObject(template: unknown, data: unknown, isText = false): unknown {
  if (typeof template === "string") return renderText(template, data, isText);
  if (Array.isArray(template)) return template.map((item) => renderObject(item, data, isText));
  if (typeof template !== "object" || template === null) return template;
  const fields: [string, unknown][] = [];
  for (const [key, value] of Object.entries(template)) {
    const name = key.startsWith("?") ? key.slice(1) : key;
    if (key.startsWith("?") && !hasValue(value, data)) continue;
    fields.push([name, renderObject(value, data, isText || TEXT_MAPS.has(name) || isTextField(name, value))]);
  }
  return Object.fromEntries(fields);
}

function isTextField(name: string, value: unknown): boolean {
  if (!TEXT_FIELDS.has(name)) return false;
  return typeof value === "string" || (Array.isArray(value) && value.every((item) => typeof item === "string"));
}

function renderText(template: string, data: unknown, isText: boolean): unknown {
  const text = renderTemplate(template, data);
  return !isText && /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}

function hasValue(value: unknown, data: unknown): boolean {
  if (typeof value !== "string") return !isZero(value);
  const action = singleAction(value);
  return action ? !isZero(action(data)) : renderTemplate(value, data) !== "";
}

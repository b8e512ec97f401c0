import { readFile } from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import type { z } from "zod";
import { messageOf } from "../../agent/runtime/kube-error.js";
import { FailureList } from "../../provider/framework/failures.js";
import { validateProperties } from "../../provider/framework/validate.js";
import { UsageError, type Terminal } from "../terminal.js";

/** Inputs of a resource or function, before they are checked. */
export type Given = Record<string, unknown>;

/** Inputs as YAML or JSON from a file; "-" is what is piped in. */
export async function readInputs(file: string, terminal: Terminal): Promise<Given> {
  const content = await contentOf(file, terminal);
  const value = parsed(content, `--file ${file}`);
  if (value === null || value === undefined) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Given;
  throw new UsageError(
    `--file ${file}: must hold properties such as "consumer:" and "networkLink:", not a list or a scalar`,
  );
}

async function contentOf(file: string, terminal: Terminal): Promise<string> {
  if (file === "-") return terminal.input();
  try {
    return await readFile(path.resolve(terminal.folder, file), "utf8");
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw new UsageError(`--file ${file}: ${isAbsent ? "there is no such file" : messageOf(error)}`);
  }
}

/** The parser's own message would quote the text, which may hold keys. */
function parsed(content: string, option: string): unknown {
  try {
    return parse(content);
  } catch (error) {
    const [position] = (error as { linePos?: { line: number }[] }).linePos ?? [];
    throw new UsageError(`${option}: is not valid YAML${position ? ` (line ${position.line})` : ""}`);
  }
}

/** Adds "a.b.c=value" to inputs; the value is read as YAML, so that numbers, lists and booleans can be given. */
export function setInput(inputs: Given, assignment: string): Given {
  const at = assignment.indexOf("=");
  const keys = assignment.slice(0, at).split(".");
  if (at < 1 || keys.some((key) => key === "" || key === "__proto__")) {
    throw new UsageError(`--set ${assignment}: must be of the form property.property=value`);
  }
  return withValue(inputs, keys, parsed(assignment.slice(at + 1), `--set ${assignment.slice(0, at)}`));
}

function withValue(inputs: Given, [key = "", ...rest]: string[], value: unknown): Given {
  if (rest.length === 0) return { ...inputs, [key]: value };
  const inner = inputs[key];
  const isObject = typeof inner === "object" && inner !== null && !Array.isArray(inner);
  return { ...inputs, [key]: withValue(isObject ? (inner as Given) : {}, rest, value) };
}

/** @throws UsageError naming every property that is wrong, and why */
export function checkedInputs<T extends z.ZodObject>(schema: T, given: Given): z.output<T> {
  const failures = new FailureList();
  const inputs = validateProperties(schema, given, failures);
  if (failures.count > 0) throw new UsageError(failures.toString());
  return inputs as z.output<T>;
}

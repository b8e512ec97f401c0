import { FailureList } from "../framework/failures.js";
import { unwrap } from "../framework/field-info.js";
import { providerConfig, type ProviderConfig } from "../framework/provider-config.js";
import { validateProperties } from "../framework/validate.js";
import type { Properties } from "./values.js";

/** Validates provider configuration; engines and SDKs send anything but texts as JSON in a text. */
export function checkConfiguration(news: Properties): { config: Properties; failures: FailureList } {
  const failures = new FailureList();
  // "version" and "pluginDownloadURL" belong to the engine.
  const own = Object.entries(news).filter(([key]) => key !== "version" && key !== "pluginDownloadURL");
  const plain = Object.fromEntries(own.map(([key, value]) => [key, fromJson(key, value)] as const));
  return { config: validateProperties(providerConfig, plain, failures), failures };
}

/** Settings that one run may be given by the environment; what the configuration says comes first. */
const VARIABLES = {
  // The second is what forceUnreachable alone was called by.
  deleteUnreachable: ["PULUMI_LIQO_DELETE_UNREACHABLE", "PULUMI_LIQO_FORCE_UNREACHABLE"],
  skipUpdateUnreachable: ["PULUMI_LIQO_SKIP_UPDATE_UNREACHABLE"],
} as const;

/** @throws Error naming every setting that is wrong */
export function readConfiguration(news: Properties, env: NodeJS.ProcessEnv = process.env): ProviderConfig {
  const { config, failures } = checkConfiguration(news);
  if (failures.count > 0) throw new Error(`the provider's configuration is not valid: ${failures.toString()}`);
  for (const [setting, names] of Object.entries(VARIABLES)) {
    if (news[setting] === undefined) config[setting] = names.some((name) => env[name] === "true");
  }
  return config as ProviderConfig;
}

function fromJson(key: string, value: unknown): unknown {
  const field = Object.hasOwn(providerConfig.shape, key)
    ? unwrap(providerConfig.shape[key as keyof typeof providerConfig.shape])
    : undefined;
  if (!field || typeof value !== "string" || field.schema._zod.def.type === "string") return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

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

/** @throws Error naming every setting that is wrong */
export function readConfiguration(news: Properties): ProviderConfig {
  const { config, failures } = checkConfiguration(news);
  if (failures.count > 0) throw new Error(`the provider's configuration is not valid: ${failures.toString()}`);
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

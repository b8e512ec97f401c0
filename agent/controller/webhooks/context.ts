import type { KubeClient, Logger, SharedInformers } from "../../runtime/index.js";
import type { ControllerConfig } from "../context.js";

/** What admission handlers are built from. */
export interface WebhookContext {
  client: KubeClient;
  informers: SharedInformers;
  config: ControllerConfig;
  logger: Logger;
}

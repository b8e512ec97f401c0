import type { AreaSetup } from "../context.js";
import { pullSecretController } from "./controller.js";

/** What the agent's own pods outside its namespace pull their image with. */
export const setupPullSecrets: AreaSetup = (context) => [pullSecretController(context)];

import manifest from "../package.json";

/** The package's version, which is also the agent's: they are released together. */
export const VERSION: string = manifest.version;

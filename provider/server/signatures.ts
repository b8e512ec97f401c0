/** Pulumi's markers in property values; the same in every SDK (sdk/nodejs runtime/rpc.ts, sdk/go resource/properties.go). */
export const SIGNATURE_KEY = "4dabf18193072939515e22adb298388d";
export const SECRET = "1b47061264138c4ac30d75fd1eb44270";
export const OUTPUT_VALUE = "d0e6a833031e9bbcd3f4e8bde6ca49a4";
export const RESOURCE_REFERENCE = "5cf8f73096256a8f31e491e813e4eb8e";
export const UNKNOWN_VALUE = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

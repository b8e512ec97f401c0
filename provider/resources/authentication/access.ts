import { known, type Failures, type UnknowableProperties } from "../../framework/index.js";
import type { AuthenticationInputs } from "./schema.js";

/** How the provider's API server is reached: in-band, or by a proxy of the user's, or directly. */
export function checkAccess(
  inputs: UnknowableProperties<Pick<AuthenticationInputs, "inBand" | "proxyURL">>,
  failures: Failures,
): void {
  if (known(inputs.inBand) === true && inputs.proxyURL !== undefined) {
    failures.add("proxyURL", "cannot be set together with inBand, which finds the proxy by itself");
  }
  if (typeof inputs.proxyURL === "string" && !isProxyUrl(inputs.proxyURL)) {
    failures.add("proxyURL", 'is not the URL of a proxy, such as "http://proxy.example.com:8118"');
  }
}

function isProxyUrl(text: string): boolean {
  return URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol);
}

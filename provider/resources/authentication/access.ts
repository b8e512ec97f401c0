import { isUnknown, known, type Failures, type UnknowableProperties } from "../../framework/index.js";
import type { AuthenticationInputs } from "./schema.js";
import { NO_HANDSHAKE } from "./tenant.js";

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

type OwnIdentity = UnknowableProperties<Pick<AuthenticationInputs, "authzPolicy" | "kubeconfig" | "userName">>;

/**
 * Whether an identity is brought along, and nothing of one is said where none is.
 *
 * @param paths where the properties lie
 */
export function checkOwnIdentity(
  { authzPolicy, ...own }: OwnIdentity,
  failures: Failures,
  paths = { kubeconfig: "kubeconfig", userName: "userName" },
): void {
  if (isUnknown(authzPolicy)) return;
  if (authzPolicy === NO_HANDSHAKE.authzPolicy) {
    if (own.kubeconfig === undefined)
      failures.add(paths.kubeconfig, "is required with authzPolicy TolerateNoHandshake");
    return;
  }
  for (const name of ["kubeconfig", "userName"] as const) {
    if (own[name] === undefined || failures.has(paths[name])) continue;
    failures.add(
      paths[name],
      "goes with authzPolicy TolerateNoHandshake only: otherwise the clusters make the identity themselves",
    );
  }
}

function isProxyUrl(text: string): boolean {
  return URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol);
}

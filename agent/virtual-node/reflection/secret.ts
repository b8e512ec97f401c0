import type { Secret } from "kubernetes-types/core/v1";
import { SecretResource } from "../../runtime/index.js";
import type { ReflectedKind } from "./reflected-kind.js";
import { isReflectable } from "./reflected-metadata.js";

const SERVICE_ACCOUNT_TOKEN = "kubernetes.io/service-account-token";

/** Secrets, but those with a service account's token: the provider would not know the account. */
export const secretKind: ReflectedKind<Secret, Secret> = {
  name: "secret",
  local: SecretResource,
  remote: SecretResource,
  fetch: true,
  replaceable: true,
  accepts: ({ type, metadata }, { policy }) =>
    type !== SERVICE_ACCOUNT_TOKEN && isReflectable(metadata?.annotations, policy),
  forge: ({ data, immutable, type }) => ({
    ...(data ? { data } : {}),
    ...(immutable === undefined ? {} : { immutable }),
    ...(type ? { type } : {}),
  }),
};

import type { AreaSetup } from "../context.js";
import { makeArea } from "./area.js";
import { AuthParamsSource } from "./auth-params.js";
import { identityController } from "./identity-controller.js";
import { LeftoverRequests } from "./leftover-requests.js";
import { nonceCreator } from "./nonce-creator.js";
import { nonceSigner } from "./nonce-signer.js";
import { quotaCreator } from "./quota-creator.js";
import { renewCopyController } from "./renew-copy-controller.js";
import { renewSourceController } from "./renew-source-controller.js";
import { sliceCopyController } from "./slice-copy-controller.js";
import { sliceIdentityCreator } from "./slice-identity-creator.js";
import { sliceSourceController } from "./slice-source-controller.js";
import { tenantController } from "./tenant-controller.js";

/**
 * Who may act on this cluster, and as whom this cluster acts on others: keys, nonces, Tenants, Identities, ResourceSlices and Quotas. A
 * cluster is consumer and provider at once; each controller says which side it is.
 */
export const setupAuthentication: AreaSetup = (context) => {
  const area = makeArea(context);
  const authParams = new AuthParamsSource(context);
  return [
    area.keys,
    new LeftoverRequests(context),
    nonceCreator(area),
    nonceSigner(area),
    tenantController(area, authParams),
    identityController(area),
    sliceSourceController(area),
    sliceCopyController(area, authParams),
    sliceIdentityCreator(area),
    quotaCreator(area),
    renewSourceController(area),
    renewCopyController(area, authParams),
  ];
};

import { QuotaResource, canonicalQuantity, type Quota, type ResourceList } from "../../../api/index.js";
import { Controller } from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import type { QuotaRoom } from "./quota-room.js";

/**
 * On the provider. Watches Quotas. Tells in an event on a Quota that has been made smaller how much its user's Pods take beyond it: they
 * stay, as nothing that runs is taken away for a smaller grant, and nobody else would say so. Once for each change of the Quota; a process
 * that starts tells it, too.
 */
export function quotaExcessController(context: ControllerContext, room: QuotaRoom): Controller {
  const quotas = context.informers.for(QuotaResource);
  const events = context.recorder("shadowpod-controller");
  /** The generation of each Quota of which has been told. */
  const told = new Map<string, number | undefined>();

  function tell(key: string): void {
    const quota = quotas.get(key);
    const excess = quota ? room.excessOf(quota) : {};
    if (!quota || Object.keys(excess).length === 0) return void told.delete(key);
    const { generation } = quota.metadata;
    if (told.has(key) && told.get(key) === generation) return;
    told.set(key, generation);
    events.warning(QuotaResource, quota, "QuotaExceeded", excessMessage(quota, excess));
  }

  const reconcile = (key: string): Promise<void> => Promise.resolve(tell(key));
  return new Controller({ name: "quota-excess", reconcile, logger: context.logger }).watch(quotas);
}

function excessMessage({ spec }: Quota, excess: ResourceList): string {
  const amounts = Object.entries(excess).map(([resource, amount]) => {
    const granted = canonicalQuantity(spec.resources[resource] ?? 0);
    return `${canonicalQuantity(amount)} of ${resource} more than the ${granted} granted`;
  });
  return `pods of user ${spec.user} take ${amounts.join(", ")}: they stay, and none is added until there is room`;
}

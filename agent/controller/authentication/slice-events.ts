import { ResourceSliceResource, type ResourceSlice, type ResourceSliceStatus } from "../../api/index.js";
import { sameJson, type EventRecorder } from "../../runtime/index.js";
import { tellTransitions } from "../transition-events.js";

/** Events on a ResourceSlice, at either end, whose status has just been written: accepted, denied, and how much is granted. */
export function tellSliceAnswer(events: EventRecorder, slice: ResourceSlice, status: ResourceSliceStatus): void {
  const [before, after] = [slice.status?.conditions, status.conditions];
  tellTransitions(events, ResourceSliceResource, slice, { before, after });
  const { resources = {} } = status;
  if (Object.keys(resources).length === 0 || sameJson(slice.status?.resources ?? {}, resources)) return;
  const amounts = Object.entries(resources).map(([name, amount]) => `${name} ${String(amount)}`);
  events.normal(ResourceSliceResource, slice, "ResourcesGranted", `granted: ${amounts.sort().join(", ")}`);
}

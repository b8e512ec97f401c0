import { LabelValues, Labels } from "../api/labels.js";
import type { InstallInputs } from "./inputs.js";
import { InstallNames } from "./names.js";

/** Labels of one object: `name` is the short component name that others look it up by (API specification, §7). */
export function labelsOf(inputs: InstallInputs, name: string, component: string = name): Record<string, string> {
  return {
    ...inputs.labels,
    [Labels.appName]: name,
    [Labels.appComponent]: component,
    [Labels.appInstance]: InstallNames.manager,
    [Labels.appPartOf]: LabelValues.partOf,
    [Labels.appVersion]: inputs.version,
    [Labels.appManagedBy]: InstallNames.manager,
    [Labels.managed]: "true",
  };
}

/** What a workload's selector and its pods have in common: nothing that an upgrade changes. */
export function selectorOf(name: string): Record<string, string> {
  return { [Labels.appName]: name, [Labels.appPartOf]: LabelValues.partOf };
}

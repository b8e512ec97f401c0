import type { z } from "zod";
import { isUnknown, known, type Failures, type UnknowableProperties } from "../../framework/index.js";
import { checkOwnIdentity } from "../authentication/access.js";
import type { peeringInputs } from "./schema.js";

type Inputs = UnknowableProperties<z.output<typeof peeringInputs>>;

/** What a Peering may leave out, and what it may consist of several times. */
export function checkParts(inputs: Inputs, failures: Failures): void {
  const isOn = (value: unknown): boolean => value === true;
  const withoutNetwork = isOn(known(inputs.networkingDisabled));
  const withoutIdentity = isOn(known(inputs.authenticationDisabled));
  if (isOn(known(inputs.inBand)) && withoutNetwork) {
    failures.add(
      "inBand",
      "needs the network between the clusters, which networkingDisabled leaves out: set one of the two to false",
    );
  }
  if (withoutIdentity && withoutNetwork) {
    failures.add("authenticationDisabled", "nothing is left of the Peering with networkingDisabled: set one to false");
  }
  checkIdentities(inputs, withoutIdentity, failures);
  checkSlices(inputs, withoutIdentity, failures);
}

function checkIdentities(inputs: Inputs, withoutIdentity: boolean, failures: Failures): void {
  const { authzPolicy, reverse } = inputs;
  if (withoutIdentity && authzPolicy !== undefined) {
    failures.add("authzPolicy", "is for the identity that authenticationDisabled leaves out: set it to false");
    return;
  }
  const namesAt = (path: string) => ({ kubeconfig: `${path}identityKubeconfig`, userName: `${path}identityUserName` });
  checkOwnIdentity(
    { authzPolicy, kubeconfig: inputs.identityKubeconfig, userName: inputs.identityUserName },
    failures,
    namesAt(""),
  );
  if (reverse === undefined || isUnknown(reverse)) return;
  const { identityKubeconfig: kubeconfig, identityUserName: userName } = reverse;
  checkOwnIdentity({ authzPolicy: reverse.authzPolicy, kubeconfig, userName }, failures, namesAt("reverse."));
}

function checkSlices(inputs: Inputs, withoutIdentity: boolean, failures: Failures): void {
  const list = inputs.additionalResourceSlices;
  const slices = list === undefined || isUnknown(list) ? [] : list;
  if (withoutIdentity && slices.length > 0) {
    failures.add(
      "additionalResourceSlices",
      "need the identity that authenticationDisabled leaves out: set it to false",
    );
  }
  const first = known(inputs.resourceSliceName);
  const names = new Set(first === undefined ? [] : [first]);
  for (const [index, slice] of slices.entries()) {
    const name = isUnknown(slice) ? undefined : known(slice.name);
    if (name === undefined) continue;
    if (names.has(name)) {
      failures.add(`additionalResourceSlices[${index}].name`, `"${name}" is the name of another slice of this Peering`);
    }
    names.add(name);
  }
}

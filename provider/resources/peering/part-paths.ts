import { formatPath, parsePath, type PropertyPath } from "../../framework/property-path.js";

/** One of the resources that a Peering consists of. */
export interface Part {
  type: "NetworkLink" | "Authentication" | "ResourceSlice";
  /** Which way it goes, or that it is of `additionalResourceSlices`, which have values of their own. */
  of: "forward" | "reverse" | "additional";
}

/** A property of the Peering, and where the part has it. */
type Names = Readonly<Record<string, PropertyPath>>;

const same = (...names: string[]): Names => Object.fromEntries(names.map((name) => [name, [name]]));

const COMMON = same("forceUnreachable", "objectLabels", "objectAnnotations");
const LINK = same("gatewayServerLocation", "gatewayServer", "gatewayClient", "mtu", "keyRotationTrigger");
/** What each direction says for itself. */
const ACCESS: Names = {
  ...same("tenantCondition", "authzPolicy"),
  identityKubeconfig: ["kubeconfig"],
  identityUserName: ["userName"],
};
const AMOUNTS: Names = {
  ...same("resources"),
  cpu: ["resources", "cpu"],
  memory: ["resources", "memory"],
  pods: ["resources", "pods"],
};
const REQUEST: Names = { ...same("createVirtualNode"), ...AMOUNTS, resourceSliceClass: ["class"] };
const SLICE_NAME: Names = { resourceSliceName: ["name"] };
const FORWARD: Names = same("consumer", "provider");
const REVERSE: Names = { consumer: ["provider"], provider: ["consumer"] };
const NONE: Names = {};

const ANYTHING = "*";

/**
 * What options such as `ignoreChanges` of a Peering name, as paths of one of its parts: engines apply them to the resource that has them alone, and a
 * Peering has nothing of its own.
 */
export function partPaths(paths: readonly string[] | undefined, part: Part): string[] {
  const named = (paths ?? []).flatMap((path) => partPath(path, part) ?? []);
  return [...new Set(named)];
}

function partPath(path: string, { type, of }: Part): string | undefined {
  if (path === ANYTHING) return path;
  const parts = parsePath(path);
  const [first, ...rest] = parts;
  const ofReverse = of === "reverse" && first === "reverse";
  const [name, ...below] = ofReverse ? rest : parts;
  const names = ofReverse ? ownNames(type) : sharedNames(type, of);
  const target = Object.hasOwn(names, String(name)) ? names[String(name)] : undefined;
  return target && formatPath([...target, ...below]);
}

/** Of what `reverse` says. */
function ownNames(type: Part["type"]): Names {
  switch (type) {
    case "NetworkLink":
      return NONE;
    case "Authentication":
      return ACCESS;
    case "ResourceSlice":
      return { ...REQUEST, ...SLICE_NAME };
  }
}

/** Of what the Peering itself says. */
function sharedNames(type: Part["type"], of: Part["of"]): Names {
  const common = { ...COMMON, ...(of === "reverse" ? REVERSE : FORWARD) };
  switch (type) {
    case "NetworkLink":
      return { ...common, ...LINK };
    case "Authentication":
      return { ...common, ...same("inBand"), ...(of === "forward" ? { ...same("proxyURL"), ...ACCESS } : NONE) };
    case "ResourceSlice":
      if (of === "additional") return common;
      return { ...common, ...REQUEST, ...(of === "forward" ? SLICE_NAME : NONE) };
  }
}

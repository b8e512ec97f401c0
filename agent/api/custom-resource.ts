import { isDnsLabel, isDnsSubdomain } from "./kubernetes-names.js";

/** A namespaced custom resource, as its definition names it. */
export interface CustomResourceName {
  group: string;
  version: string;
  kind: string;
  plural: string;
}

/** Groups of Kubernetes, which decide things in a cluster, and of Liqo, by which clusters talk to each other: their objects are never copied. */
const KEPT_BACK = ["k8s.io", "liqo.io"];
const KIND = /^[A-Za-z][-A-Za-z0-9]{0,62}$/;

/** Whether a group's objects may be reflected: one of somebody's own, with a domain. */
export function isReflectableGroup(group: string): boolean {
  return (
    isDnsSubdomain(group) &&
    group.includes(".") &&
    !KEPT_BACK.some((domain) => group === domain || group.endsWith(`.${domain}`))
  );
}

export const REFLECTABLE_GROUP_MESSAGE =
  "must be a custom resource's group, such as example.com, and none of k8s.io or liqo.io";

/** "widgets.example.com", as its definition is called. */
export function customResourceName({ plural, group }: Pick<CustomResourceName, "plural" | "group">): string {
  return `${plural}.${group}`;
}

/** "widgets.v1.example.com/Widget", as arguments say it. */
export function customResourceText({ plural, version, group, kind }: CustomResourceName): string {
  return `${plural}.${version}.${group}/${kind}`;
}

/** The opposite of customResourceText; undefined for a text that names nothing that may be reflected. */
export function parseCustomResource(text: string): CustomResourceName | undefined {
  const [, plural = "", version = "", group = "", kind = ""] =
    /^([^./]+)\.([^./]+)\.([^/]+)\/([^/]+)$/.exec(text) ?? [];
  const isValid = isDnsLabel(plural) && isDnsLabel(version) && isReflectableGroup(group) && KIND.test(kind);
  return isValid ? { plural, version, group, kind } : undefined;
}

import { Annotations } from "../../../agent/api/index.js";
import { namespaceOffloadingInputs, type NamespaceOffloadingInputs } from "./schema.js";

/** The inputs that annotations of the NamespaceOffloading stand for (offloading specification, §3, §12.11). */
const SETTINGS = {
  evictionAfterDisconnect: Annotations.evictionAfterDisconnect,
  evictionAfterUnschedulable: Annotations.evictionAfterUnschedulable,
  deleteRemoteVolumes: Annotations.deleteRemoteVolumes,
  apiServerSupport: Annotations.apiServerSupport,
} as const;

export type Settings = Pick<NamespaceOffloadingInputs, keyof typeof SETTINGS>;

const KEYS = Object.keys(SETTINGS) as (keyof Settings)[];

/** Settings as annotations. What no input names has none, and is left to others. */
export function annotationsOf(settings: Settings): Record<string, string> {
  const named = KEYS.filter((key) => settings[key] !== undefined);
  return Object.fromEntries(named.map((key) => [SETTINGS[key], String(settings[key])]));
}

/** The annotations that inputs have named before and do not name any more: they go, whoever has put them there. */
export function formerAnnotations(settings: Settings, before: Settings): string[] {
  const named = annotationsOf(settings);
  return Object.keys(annotationsOf(before)).filter((key) => named[key] === undefined);
}

/**
 * What annotations say, as inputs: all of them for an import, else those that the given inputs name. A word that an input cannot say, or that says what holds
 * without it, is told as none.
 */
export function settingsOf(live: Record<string, string> = {}, given?: Settings): Settings {
  const { shape } = namespaceOffloadingInputs;
  const isWanted = (key: keyof Settings): boolean => !given || given[key] !== undefined;
  const texts = Object.fromEntries(KEYS.filter(isWanted).map((key) => [key, live[SETTINGS[key]]]));
  const { evictionAfterDisconnect, evictionAfterUnschedulable, deleteRemoteVolumes, apiServerSupport } = texts;
  return {
    evictionAfterDisconnect: shape.evictionAfterDisconnect.safeParse(evictionAfterDisconnect).data,
    evictionAfterUnschedulable: shape.evictionAfterUnschedulable.safeParse(evictionAfterUnschedulable).data,
    deleteRemoteVolumes:
      deleteRemoteVolumes === "true" || (given?.deleteRemoteVolumes === undefined ? undefined : false),
    apiServerSupport: shape.apiServerSupport.safeParse(apiServerSupport).data,
  };
}

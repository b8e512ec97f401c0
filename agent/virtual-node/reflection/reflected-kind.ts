import type { KubeObject, Logger, ResourceType } from "../../runtime/index.js";
import type { NamespacePair, VirtualNodeContext } from "../context.js";
import type { LocalNamespace } from "./local-namespace.js";
import type { ReflectionPolicy } from "./reflected-metadata.js";

/** What a kind may look at when it decides. */
export interface ReflectionScope {
  context: VirtualNodeContext;
  pair: NamespacePair;
  policy: ReflectionPolicy;
  /** The consumer's namespace. */
  local: LocalNamespace;
  logger: Logger;
}

/** Whether there is to be a copy; "leave": that cannot be told now, and all stays as it is. */
export type Verdict = boolean | "leave";

/** An event on the consumer's object that people look at. */
export interface Remark {
  type: ResourceType;
  object: KubeObject;
  reason: string;
  message: string;
}

/** How one kind of the consumer's objects becomes one of the provider's. */
export interface ReflectedKind<L extends KubeObject, R extends KubeObject> {
  /** As arguments call it: "service", "configmap", … */
  name: string;
  local: ResourceType<L>;
  remote: ResourceType<R>;
  /** Whether objects of that name in the consumer's cluster, and their copies, are looked at. Default: all. */
  concerns?(name: string): boolean;
  /** Whether the object is to be at the provider at all. Throws when its annotations contradict each other, or the object cannot be carried. */
  accepts(object: L, scope: ReflectionScope, present: R | undefined): Verdict | Promise<Verdict>;
  /** Everything of the remote object but its name, namespace and standard metadata. `present` is the copy that is there. */
  forge(object: L, scope: ReflectionScope, present?: R): Omit<R, "apiVersion" | "kind" | "metadata">;
  /** Changes to the labels and annotations that all reflected objects get. */
  metadata?(
    metadata: { labels: Record<string, string>; annotations: Record<string, string> },
    object: L,
    scope: ReflectionScope,
  ): void;
  /** What the owner should know of the copy; a warning says so when it becomes another. */
  remark?(object: L, scope: ReflectionScope): Remark | undefined;
  /** Whether a copy that is to go stays all the same, for now: it is asked again now and then. `object` is what has taken its original's name, if anything. */
  keeps?(present: R, scope: ReflectionScope, object: L | undefined): Promise<boolean>;
  /** Whether no update brings the copy to what is wanted, so that it must be made anew. */
  mustReplace?(object: L, present: R): boolean;
  /** What remains to be done in the consumer's cluster once the copy is as it should be. */
  reflected?(object: L, copy: R, scope: ReflectionScope): Promise<void>;
  /** What remains to be done there once the copy has been told to go, though its original stays. */
  withdrawn?(object: L, scope: ReflectionScope): Promise<void>;
  /** Whether copies are kept as a whole: by default their metadata is enough. */
  keepsWhole?: boolean;
  /** Default: the same name. */
  remoteName?(name: string, scope: ReflectionScope): string;
  localName?(name: string, scope: ReflectionScope): string;
  /** Only metadata is kept here; the object is read again when it must be written (it may hold much data). */
  fetch?: boolean;
  /** Whether an object of which the provider's API server says that no update brings it to what is wanted may be made anew. */
  replaceable?: boolean;
}

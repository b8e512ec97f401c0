import type { Secret } from "kubernetes-types/core/v1";
import { VirtualNodeResource } from "../../api/index.js";
import {
  Controller,
  KubeError,
  SecretResource,
  isAlreadyExists,
  isDeleting,
  keyOf,
  splitKey,
  type Informer,
  type KubeObject,
} from "../../runtime/index.js";
import type { ControllerContext } from "../context.js";
import { WORKLOADS } from "../network/gateways/kinds.js";
import { unlessGone } from "../offloading/unless-gone.js";
import { COPY_SELECTOR, copyOf, isCopy, isPullSecret, isSameCredential } from "./copy.js";

const FIELD_MANAGER = "liqo-controller-manager";

/**
 * Gateways and virtual nodes run the agent's image in tenant namespaces, where a pod finds the pull Secrets of its own namespace only. Watches those that
 * the installation names, and what runs where; owns their copies: one in each namespace with a gateway or a virtual node, which follows the original, and goes with it, with
 * its name in the installation, and with the last of these. A Secret of that name which is no copy is left as it is.
 */
export function pullSecretController(context: ControllerContext): Controller {
  const { client, informers, config, logger } = context;
  const copies = informers.for(SecretResource, { labelSelector: COPY_SELECTOR });
  const named = config.imagePullSecrets.map((name) =>
    informers.for(SecretResource, { fieldSelector: `metadata.name=${name}`, trim: withoutStrangersData }),
  );
  const running: Informer<KubeObject>[] = [
    informers.for<KubeObject>(VirtualNodeResource),
    ...(config.networkingEnabled ? WORKLOADS.map((type) => informers.for<KubeObject>(type)) : []),
  ];
  const events = context.recorder("pull-secret-controller");

  async function reconcile(key: string): Promise<void> {
    const copy = copies.get(key);
    if (copy && isDeleting(copy)) return;
    const original = originalFor(key);
    if (copy) return original ? renew(copy, original) : remove(copy);
    if (original) await create(original, splitKey(key).namespace ?? "");
  }

  /** What is to be found under the key as a copy; undefined where nothing needs one. */
  function originalFor(key: string): Secret | undefined {
    const { namespace = "", name } = splitKey(key);
    if (namespace === config.namespace || !config.imagePullSecrets.includes(name)) return undefined;
    if (!running.some((informer) => informer.inNamespace(namespace).length > 0)) return undefined;
    const original = ofName(name, config.namespace);
    if (!original || isPullSecret(original)) return original;
    const type = `its type ${original.type} is none that images are pulled with`;
    events.warning(
      SecretResource,
      original,
      "NoPullSecret",
      `not copied to where gateways and virtual nodes run: ${type}`,
    );
    return undefined;
  }

  function ofName(name: string, namespace: string): Secret | undefined {
    return named.flatMap((informer) => informer.find(namespace, name) ?? [])[0];
  }

  /** A Secret's type never changes: the removal of a copy of another type leads back here. */
  async function renew(copy: Secret, original: Secret): Promise<void> {
    if (isSameCredential(copy, original)) return;
    if (copy.type !== original.type) return remove(copy);
    const { name = "", namespace, uid } = copy.metadata ?? {};
    const renewed = await unlessGone(
      client.jsonPatch(SecretResource, { name, namespace }, [
        { op: "test", path: "/metadata/uid", value: uid },
        { op: "add", path: "/data", value: original.data ?? {} },
      ]),
    );
    if (renewed) copies.observe(renewed);
  }

  async function remove({ metadata: { name = "", namespace, uid } = {} }: Secret): Promise<void> {
    await client.delete(SecretResource, { name, namespace }, { uid });
  }

  async function create(original: Secret, namespace: string): Promise<void> {
    try {
      const wish = copyOf(original, namespace);
      copies.observe(await client.create(SecretResource, wish, { fieldManager: FIELD_MANAGER }));
    } catch (error) {
      if (isNamespaceEnding(error)) return;
      if (!isAlreadyExists(error)) throw error;
      await tellOfStranger(original, namespace);
    }
  }

  /** Whoever has brought the same credential there by hand need not be told. */
  async function tellOfStranger(original: Secret, namespace: string): Promise<void> {
    const name = original.metadata?.name ?? "";
    const present = await client.get(SecretResource, { name, namespace });
    if (!present || isCopy(present) || isSameCredential(present, original)) return;
    const message =
      `gateways and virtual nodes here pull images with this Secret, which is not the one of namespace ${config.namespace}: ` +
      `delete it, and that one is copied, or keep it up to date by hand`;
    events.warning(SecretResource, present, "PullSecretNotCopied", message);
  }

  const inNamespaces = (namespaces: Iterable<string | undefined>, names = config.imagePullSecrets): string[] =>
    [...new Set(namespaces)].flatMap((namespace) => names.map((name) => keyOf({ metadata: { name, namespace } })));
  const wherePodsRun = (): (string | undefined)[] =>
    running.flatMap((informer) => informer.list().map(({ metadata }) => metadata?.namespace));

  const controller = new Controller({ name: "pull-secrets", reconcile, logger }).watch(copies);
  for (const informer of named) {
    controller.watch(informer, ({ metadata: { name = "", namespace } = {} }) =>
      namespace === config.namespace ? inNamespaces(wherePodsRun(), [name]) : inNamespaces([namespace], [name]),
    );
  }
  for (const informer of running) {
    controller.watch(informer, ({ metadata }, { type }) =>
      type === "updated" ? [] : inNamespaces([metadata?.namespace]),
    );
  }
  return controller;

  /** Of Secrets that only have the name in common nothing is kept but that they are there. */
  function withoutStrangersData(secret: Secret): Secret {
    if (secret.metadata?.namespace === config.namespace) return secret;
    return { metadata: secret.metadata, type: secret.type };
  }
}

/** Its end ends, too, what runs there. */
function isNamespaceEnding(error: unknown): boolean {
  return (
    error instanceof KubeError &&
    (error.status?.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") ?? false)
  );
}

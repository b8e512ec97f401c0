import { isDeepStrictEqual } from "node:util";
import type { Namespace } from "kubernetes-types/core/v1";
import type { RoleBinding } from "kubernetes-types/rbac/v1";
import {
  Annotations,
  Finalizers,
  Labels,
  NamespaceMapResource,
  Names,
  type NamespaceMap,
  type NamespaceMapPhase,
} from "../../../api/index.js";
import {
  addFinalizer,
  Controller,
  hasFinalizer,
  isAlreadyExists,
  isDeleting,
  isInvalid,
  keyOf,
  messageOf,
  NamespaceResource,
  removeFinalizer,
  RoleBindingResource,
} from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { customRoles } from "../custom-roles.js";
import { unlessGone } from "../unless-gone.js";
import { customRoleBindingOf, isManagedBy, managingMap, remoteNamespaceOf, roleBindingOf } from "./mapping.js";

type Mapping = Record<string, { remoteNamespace?: string; phase?: NamespaceMapPhase }>;

const MANAGED = "offloading/namespace-map";

/**
 * On the provider. Watches the replicated copies of NamespaceMaps, and namespaces. Owns the namespaces that the maps ask for and the role
 * binding in each; writes status.currentMapping, which travels back to the consumer (offloading specification, §4.4).
 */
export function namespaceMapController(context: ControllerContext): Controller {
  const { client, informers, logger } = context;
  const maps = informers.for(NamespaceMapResource);
  const namespaces = informers.for(NamespaceResource).addIndex(MANAGED, managingMap);
  const bindings = informers.for(RoleBindingResource, { labelSelector: Labels.remoteClusterID });
  const customRole = customRoles(context, Names.virtualKubeletRemoteCustomRole);
  const events = context.recorder("namespace-map-controller");

  async function reconcile(key: string): Promise<void> {
    const map = maps.get(key);
    if (!map || map.metadata.labels?.[Labels.replicated] !== "true") return;
    if (isDeleting(map)) return finish(map);
    if (!hasFinalizer(map, Finalizers.namespaceMap)) {
      // The event of this write brings the next pass.
      maps.observe(await addFinalizer(client, NamespaceMapResource, map, Finalizers.namespaceMap));
    }
    const consumerID = namespaces.get(map.metadata.namespace ?? "")?.metadata?.labels?.[Labels.remoteClusterID];
    if (!consumerID) throw new Error(`namespace ${map.metadata.namespace} has no label ${Labels.remoteClusterID}`);

    const failures: string[] = [];
    const mapping: Mapping = await removeUnwanted(map);
    await Promise.all(
      Object.entries(map.spec.desiredMapping ?? {}).map(async ([local, remote]) => {
        const { phase, failure } = await ensure(map, local, remote, consumerID);
        if (phase) mapping[local] = { remoteNamespace: remote, phase };
        if (failure) failures.push(failure);
      }),
    );
    await writeStatus(map, mapping);
    if (failures.length > 0) throw new Error(failures.join("; "));
  }

  /** The phase of one entry. A failure that may pass leaves the phase as it was: leaving Accepted would end the consumer's pods. */
  async function ensure(
    map: NamespaceMap,
    local: string,
    remote: string,
    consumerID: string,
  ): Promise<{ phase?: NamespaceMapPhase; failure?: string }> {
    const before = map.status?.currentMapping?.[local]?.phase;
    try {
      const present = namespaces.get(remote) ?? (await createNamespace(map, local, remote, consumerID));
      if (!isManagedBy(present, map, local)) {
        events.warning(
          NamespaceMapResource,
          map,
          "NamespaceConflict",
          `namespace ${remote} exists already and was not made for ${local}`,
        );
        return { phase: "CreationLoopBackOff" };
      }
      if (isDeleting(present)) return { phase: "Terminating" };
      await Promise.all([
        ensureRoleBinding(roleBindingOf(map, remote, consumerID)),
        customRole.get(Names.virtualKubeletRemoteCustomRole) &&
          ensureRoleBinding(customRoleBindingOf(map, remote, consumerID)),
      ]);
      return { phase: "Accepted" };
    } catch (error) {
      const phase = isInvalid(error) ? "CreationLoopBackOff" : before;
      return { phase, failure: `namespace ${remote}: ${messageOf(error)}` };
    }
  }

  async function createNamespace(
    map: NamespaceMap,
    local: string,
    remote: string,
    consumerID: string,
  ): Promise<Namespace> {
    try {
      const created = await client.create(NamespaceResource, remoteNamespaceOf(map, local, remote, consumerID));
      namespaces.observe(created);
      return created;
    } catch (error) {
      const other = isAlreadyExists(error) ? await client.get(NamespaceResource, { name: remote }) : undefined;
      if (!other) throw error;
      return other;
    }
  }

  async function ensureRoleBinding(binding: RoleBinding): Promise<void> {
    if (bindings.get(keyOf(binding))) return;
    try {
      bindings.observe(await client.create(RoleBindingResource, binding));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /** Deletes the namespaces that the map no longer asks for; those that are not gone yet stay in the mapping. */
  async function removeUnwanted(map: NamespaceMap): Promise<Mapping> {
    const desired = isDeleting(map) ? {} : (map.spec.desiredMapping ?? {});
    const unwanted = namespaces.byIndex(MANAGED, keyOf(map)).filter((namespace) => {
      const local = namespace.metadata?.annotations?.[Annotations.originalName] ?? "";
      return desired[local] !== namespace.metadata?.name;
    });
    await Promise.all(
      unwanted
        .filter((namespace) => !isDeleting(namespace))
        .map(({ metadata }) => remove(metadata?.name, metadata?.uid)),
    );
    return Object.fromEntries(
      unwanted.map(({ metadata }) => [
        metadata?.annotations?.[Annotations.originalName] ?? "",
        { remoteNamespace: metadata?.name, phase: "Terminating" as const },
      ]),
    );
  }

  async function remove(name = "", uid?: string): Promise<void> {
    await client.delete(NamespaceResource, { name }, { uid });
  }

  async function finish(map: NamespaceMap): Promise<void> {
    if (!hasFinalizer(map, Finalizers.namespaceMap)) return;
    const remaining = await removeUnwanted(map);
    await writeStatus(map, remaining);
    // The deletion of each namespace brings the next pass.
    if (Object.keys(remaining).length > 0) return;
    const last = maps.get(keyOf(map)) ?? map;
    await unlessGone(removeFinalizer(client, NamespaceMapResource, last, Finalizers.namespaceMap));
  }

  async function writeStatus(map: NamespaceMap, currentMapping: Mapping): Promise<void> {
    const before = map.status?.currentMapping ?? {};
    if (isDeepStrictEqual(before, currentMapping)) return;
    const { name = "", namespace } = map.metadata;
    const removed = Object.keys(before).filter((local) => !currentMapping[local]);
    const patch = { ...currentMapping, ...Object.fromEntries(removed.map((local) => [local, null])) };
    const updated = await unlessGone(
      client.mergePatch(
        NamespaceMapResource,
        { name, namespace },
        { status: { currentMapping: patch } },
        { subresource: "status" },
      ),
    );
    if (updated) maps.observe(updated);
  }

  function managingMapOf(namespace = ""): string[] {
    const present = namespaces.get(namespace);
    return present ? managingMap(present) : [];
  }

  return new Controller({ name: "namespace-map", reconcile, logger })
    .watch(maps)
    .watch(customRole, () => maps.list().map(keyOf))
    .watch(bindings, (binding, { type }) => (type === "deleted" ? managingMapOf(binding.metadata?.namespace) : []))
    .watch(namespaces, (namespace) => [
      ...managingMap(namespace),
      // A conflict ends when the other namespace goes.
      ...maps
        .list()
        .filter(({ spec }) => Object.values(spec.desiredMapping ?? {}).includes(namespace.metadata?.name ?? ""))
        .map(keyOf),
    ]);
}

import type { Node, PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1";
import { LabelValues, Labels, Names, compareQuantities } from "../../../api/index.js";
import {
  Controller,
  NodeResource,
  PersistentVolumeClaimResource,
  PersistentVolumeResource,
  StorageClassResource,
  isAlreadyExists,
  isDeleting,
  keyOf,
} from "../../../runtime/index.js";
import { reportCapacity, reschedule } from "../../../storage/claim-updates.js";
import { isVirtualClaim, refuseImpossible, selectedNodeOf } from "../../../storage/virtual-claim.js";
import { requestedStorage, virtualVolume } from "../../../storage/virtual-volume.js";
import type { ControllerContext } from "../../context.js";
import { FIELD_MANAGER } from "../field-manager.js";
import { claimOfUid, claims as claimsOf, volumes as volumesOf } from "./informers.js";
import { nodesOf, realClaimOf, realClassOf, sourceOf } from "./real-claim.js";

/**
 * On the consumer. Watches virtual claims for which the scheduler has chosen one of the cluster's own nodes, and the real claims behind them. Owns
 * the real claims, in the storage namespace; makes the volumes, with the real ones' sources; keeps the size of both equal (offloading
 * specification, §10). Claims of virtual nodes are the virtual nodes' business.
 */
export function localClaimController(context: ControllerContext): Controller {
  const { client, informers, config, logger } = context;
  const claims = claimsOf(context);
  const volumes = volumesOf(context);
  const nodes = informers.for(NodeResource);
  const classes = informers.for(StorageClassResource);
  const events = context.recorder("storage-controller");

  async function reconcile(key: string): Promise<void> {
    const claim = claims.get(key);
    if (!claim || isDeleting(claim) || !isVirtualClaim(claim)) return;
    const real = claims.find(Names.storageNamespace, claim.metadata?.uid ?? "");
    if (claim.spec?.volumeName) return real && follow(claim, real);
    const node = nodes.get(selectedNodeOf(claim) ?? "");
    if (!node || isVirtual(node)) return;
    refuseImpossible(claim, events);
    return provide(claim, real ?? (await makeReal(claim)));
  }

  async function makeReal(claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim | undefined> {
    const className = realClassOf(classes.list(), config.realStorageClass)?.metadata?.name;
    if (className !== undefined) {
      const real = await client.apply(PersistentVolumeClaimResource, realClaimOf(claim, className), {
        fieldManager: FIELD_MANAGER,
      });
      claims.observe(real);
      return real;
    }
    const wanted = config.realStorageClass
      ? `no storage class ${config.realStorageClass}`
      : "no default storage class: name one as realStorageClass of the Agent";
    await reschedule(client, events, claim, `cluster ${config.clusterId} has ${wanted}`);
    return undefined;
  }

  async function provide(claim: PersistentVolumeClaim, real: PersistentVolumeClaim | undefined): Promise<void> {
    const volume = boundVolume(real);
    if (!volume) return;
    const storageClass = classes.get(claim.spec?.storageClassName ?? "");
    const capacity = volume.spec?.capacity?.["storage"];
    const virtual = virtualVolume({ claim, storageClass, source: sourceOf(volume), capacity, nodes: nodesOf(volume) });
    try {
      volumes.observe(await client.create(PersistentVolumeResource, virtual));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return;
    }
    const message = `volume ${virtual.metadata?.name}, of class ${real?.spec?.storageClassName}, stays in this cluster`;
    events.normal(PersistentVolumeClaimResource, claim, "ProvisioningSucceeded", message);
  }

  function boundVolume(real: PersistentVolumeClaim | undefined): PersistentVolume | undefined {
    return real?.status?.phase === "Bound" ? volumes.get(real.spec?.volumeName ?? "") : undefined;
  }

  async function follow(claim: PersistentVolumeClaim, real: PersistentVolumeClaim): Promise<void> {
    if (compareQuantities(requestedStorage(claim), requestedStorage(real)) > 0) await enlarge(claim, real);
    const volume = volumes.get(claim.spec?.volumeName ?? "");
    if (volume) await reportCapacity(client, claim, volume, real.status?.capacity?.["storage"]);
  }

  async function enlarge(claim: PersistentVolumeClaim, real: PersistentVolumeClaim): Promise<void> {
    const { name = "", namespace } = real.metadata ?? {};
    const requests = { storage: requestedStorage(claim) };
    const patch = { spec: { resources: { requests } } };
    claims.observe(await client.mergePatch(PersistentVolumeClaimResource, { name, namespace }, patch));
  }

  /** A real claim is looked at through the virtual one that it is named after. */
  function keysOf(claim: PersistentVolumeClaim): string[] {
    if (claim.metadata?.namespace !== Names.storageNamespace) return [keyOf(claim)];
    const virtual = claimOfUid(claims, claim.metadata.name ?? "");
    return virtual ? [keyOf(virtual)] : [];
  }

  function waiting(): string[] {
    return claims
      .list()
      .filter((claim) => isVirtualClaim(claim) && !claim.spec?.volumeName)
      .map(keyOf);
  }

  const ofVolume = ({ spec }: PersistentVolume): string[] => {
    const real = claims.find(spec?.claimRef?.namespace ?? "", spec?.claimRef?.name ?? "");
    return real ? keysOf(real) : [];
  };
  return new Controller({ name: "local-claims", reconcile, logger })
    .watch(claims, keysOf)
    .watch(volumes, ofVolume)
    .watch(nodes, (_node, { type }) => (type === "added" ? waiting() : []))
    .watch(classes, waiting);
}

function isVirtual({ metadata }: Node): boolean {
  return metadata?.labels?.[Labels.type] === LabelValues.virtualNodeType;
}

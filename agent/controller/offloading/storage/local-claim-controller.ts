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
import {
  SELECTED_NODE_ANNOTATION,
  isVirtualClaim,
  refuseImpossible,
  selectedNodeOf,
} from "../../../storage/virtual-claim.js";
import { liesWithPeer, requestedStorage, virtualVolume } from "../../../storage/virtual-volume.js";
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
    const selected = selectedNodeOf(claim);
    const node = nodes.get(selected ?? "");
    if (!selected || (node && isVirtual(node))) return;
    // Its end brings the next pass.
    if (real && isDeleting(real)) return;
    if (real && hasGivenUp(real)) return giveBack(claim, real);
    if (!node) return;
    refuseImpossible(claim, events);
    return provide(claim, real ? await moved(real, selected) : await makeReal(claim));
  }

  /** The scheduler is to decide anew. First the real claim goes, which belongs to the former decision: by one without a node it is told that there is no volume. */
  async function giveBack(claim: PersistentVolumeClaim, real: PersistentVolumeClaim): Promise<void> {
    const { name = "", namespace, uid } = real.metadata ?? {};
    await client.delete(PersistentVolumeClaimResource, { name, namespace }, { uid });
    const why = `the provisioner of class ${real.spec?.storageClassName} has no volume for node ${selectedNodeOf(claim)}: the events of claim ${namespace}/${name} say why`;
    // The end of the real claim brings the next pass, which may come before the watch tells of this: it would make another one for the same node.
    claims.observe(await reschedule(client, events, claim, why));
  }

  /** The real claim, for the node that the scheduler has chosen last. */
  async function moved(real: PersistentVolumeClaim, node: string): Promise<PersistentVolumeClaim> {
    if (real.spec?.volumeName || selectedNodeOf(real) === node) return real;
    const { name = "", namespace, resourceVersion } = real.metadata ?? {};
    // One whose provisioner gives up meanwhile must not be asked again unnoticed.
    const metadata = { resourceVersion, annotations: { [SELECTED_NODE_ANNOTATION]: node } };
    const by = { fieldManager: FIELD_MANAGER };
    const updated = await client.mergePatch(PersistentVolumeClaimResource, { name, namespace }, { metadata }, by);
    claims.observe(updated);
    return updated;
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
    claims.observe(await reschedule(client, events, claim, `cluster ${config.clusterId} has ${wanted}`));
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
    const volume = volumes.get(claim.spec?.volumeName ?? "");
    // A real claim may be left of a node that was chosen before one of a provider's.
    if (!volume || liesWithPeer(volume)) return;
    if (compareQuantities(requestedStorage(claim), requestedStorage(real)) > 0) await enlarge(claim, real);
    await reportCapacity(client, claim, volume, real.status?.capacity?.["storage"]);
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

/** Where a provisioner can make no volume for the node, it takes the node away. */
function hasGivenUp(real: PersistentVolumeClaim): boolean {
  return !real.spec?.volumeName && selectedNodeOf(real) === undefined;
}

function isVirtual({ metadata }: Node): boolean {
  return metadata?.labels?.[Labels.type] === LabelValues.virtualNodeType;
}

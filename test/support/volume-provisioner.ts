import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { PersistentVolumeClaim } from "kubernetes-types/core/v1";
import {
  Informer,
  PersistentVolumeClaimResource,
  PersistentVolumeResource,
  StorageClassResource,
  isAlreadyExists,
} from "../../agent/runtime/index.js";
import { until } from "../clusters/support/wait.js";
import type { LabCluster } from "./lab.js";

const CLASS = "disks";
/** Tests end API servers, and start them again. */
const PATIENCE_MS = 120_000;

/** Gives test clusters a default storage class, whose volumes are folders of this machine: their nodes are on it. */
export class VolumeProvisioner {
  private readonly folder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-volumes-"));
  private readonly informers: Informer<PersistentVolumeClaim>[] = [];
  private hasStopped = false;
  /** What could not be made. */
  readonly failures: unknown[] = [];

  async serve(lab: LabCluster): Promise<void> {
    const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
    const storageClass = { metadata: { name: CLASS, annotations }, provisioner: "test.example/folders" };
    await lab.client.apply(StorageClassResource, storageClass, { fieldManager: "test" });
    const informer = new Informer(lab.client, PersistentVolumeClaimResource).onEvent(({ type, object }) => {
      if (type === "deleted" || object.spec?.storageClassName !== CLASS || object.spec.volumeName) return;
      this.provide(lab, object).catch((error: unknown) => this.failures.push(error));
    });
    this.informers.push(informer.start());
  }

  /** Takes the data along. */
  async stop(): Promise<void> {
    this.hasStopped = true;
    await Promise.all(this.informers.map((informer) => informer.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async provide({ client }: LabCluster, { metadata, spec }: PersistentVolumeClaim): Promise<void> {
    const { name, namespace, uid = "" } = metadata ?? {};
    const volume = {
      metadata: { name: `folder-${uid}` },
      spec: {
        hostPath: { path: path.join(this.folder, uid), type: "DirectoryOrCreate" },
        capacity: { storage: spec?.resources?.requests?.["storage"] ?? "1Mi" },
        accessModes: spec?.accessModes,
        storageClassName: CLASS,
        persistentVolumeReclaimPolicy: "Retain",
        claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid },
      },
    };
    await until(`cluster ${client.cluster}: a volume for claim ${namespace}/${name}`, PATIENCE_MS, async () => {
      if (this.hasStopped) return true;
      await client.create(PersistentVolumeResource, volume).catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
      return true;
    });
  }
}

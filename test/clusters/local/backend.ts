import type { Backend, Cluster, ClusterStatus } from "../backend.js";
import { connect } from "./api.js";
import { unavailableAddons } from "./addons.js";
import { down } from "./down.js";
import { loadImages } from "./images.js";
import { deadPrograms } from "./processes.js";
import { readRecord, readRecords, toCluster, type ClusterRecord } from "./record.js";
import { prepare, unreadyNodes, up } from "./up.js";
import { messageOf } from "../../../agent/runtime/kube-error.js";

/** Clusters as ordinary processes in network namespaces of this machine. */
export const localBackend: Backend = {
  name: "local",
  async prepare(progress) {
    await prepare(progress);
  },
  up: async (specs, progress, options) => (await up(specs, progress, options)).map(toCluster),
  down,
  list: () => Promise.resolve(readRecords().map(toCluster)),
  status: async (cluster) => ({ ...cluster, problems: await problems(recordOf(cluster)) }),
  async loadImage(archive, clusters, progress) {
    await Promise.all(
      clusters.flatMap((cluster) => {
        const record = recordOf(cluster);
        return record.nodes.map((node) =>
          progress.step(`${node.name}: image loaded`, () => loadImages(record, node, [archive])),
        );
      }),
    );
  },
};

function recordOf(cluster: Cluster): ClusterRecord {
  const record = readRecord(cluster.name);
  if (!record) throw new Error(`There is no local cluster ${cluster.name}`);
  return record;
}

async function problems(record: ClusterRecord): Promise<ClusterStatus["problems"]> {
  const dead = deadPrograms(record.spec.name).map((program) => `${program} does not run`);
  const api = connect(record);
  try {
    const nodes = (await unreadyNodes(record, api)).map((node) => `node ${node} is not Ready`);
    const addons = (await unavailableAddons(api)).map((addon) => `${addon} is not available`);
    return [...dead, ...nodes, ...addons];
  } catch (error) {
    return [...dead, `API server does not answer: ${messageOf(error)}`];
  } finally {
    api.close();
  }
}

import type { ForeignCluster } from "../api/index.js";
import { isGoodState } from "../api/module-state.js";
import type { ControllerFigures } from "../runtime/controller.js";
import { singleMetric, type Metric, type Sample } from "../runtime/metrics.js";

export interface ControllerSources {
  isLeader: () => boolean;
  controllers: () => Iterable<ControllerFigures>;
  foreignClusters: () => Iterable<ForeignCluster>;
}

/** The controller's figures for Prometheus: its own work, and every peer's state. */
export function controllerMetrics({ isLeader, controllers, foreignClusters }: ControllerSources): Metric[] {
  const perController = (
    name: string,
    type: Metric["type"],
    help: string,
    value: (of: ControllerFigures) => number,
  ): Metric => ({
    name,
    type,
    help,
    labelNames: ["controller"],
    samples: () => [...controllers()].map((one) => ({ labels: { controller: one.name }, value: value(one) })),
  });
  return [
    singleMetric("liqo_controller_is_leader", "gauge", "Whether this replica is the one that acts.", () =>
      Number(isLeader()),
    ),
    perController("liqo_controller_reconcile_total", "counter", "Passes of a controller.", ({ passes }) => passes),
    perController(
      "liqo_controller_reconcile_errors_total",
      "counter",
      "Passes that failed.",
      ({ failures }) => failures,
    ),
    perController(
      "liqo_controller_reconcile_seconds_total",
      "counter",
      "Time in passes, in seconds.",
      ({ seconds }) => seconds,
    ),
    perController("liqo_controller_queue_length", "gauge", "Objects that wait for a pass.", ({ queued }) => queued),
    {
      name: "liqo_foreign_cluster_module_healthy",
      type: "gauge",
      help: "Whether a module of a peering is as it should be; modules that are off are left out.",
      labelNames: ["cluster_id", "module"],
      samples: () => [...foreignClusters()].flatMap(moduleSamples),
    },
  ];
}

function moduleSamples({ spec, status }: ForeignCluster): Sample[] {
  return Object.entries(status?.modules ?? {})
    .filter(([, module]) => module?.enabled)
    .map(([module, { conditions = [] }]) => ({
      labels: { cluster_id: spec.clusterID ?? "", module },
      value: conditions.every((condition) => isGoodState(condition.status)) ? 1 : 0,
    }));
}

import {
  FirewallConfigurationResource,
  RouteConfigurationResource,
  type FirewallConfiguration,
  type RouteConfiguration,
} from "../api/index.js";
import { LevelLoop, tellChange, type Run } from "../net/index.js";
import { Informer, type KubeClient, type KubeObject, type Logger, type Refreshable } from "../runtime/index.js";
import { ConditionWriter } from "./condition-writer.js";
import { tableCommands, tableName } from "./firewall-json.js";
import { firewallProblems } from "./firewall-problems.js";
import { FirewallTables, tableKey, type WantedTable } from "./firewall-tables.js";
import { carriesOutFirewall, carriesOutRoutes, type RuleHost } from "./hosts.js";
import { routeProblems } from "./route-problems.js";
import { rulesManager } from "./rules-manager.js";
import { tablePlan, type TablePlan } from "./routing-plan.js";
import { applyTablePlans } from "./routing-tables.js";

export interface HostRulesOptions {
  client: KubeClient;
  run: Run;
  logger: Logger;
  host: RuleHost;
  /** By which the host is named in statuses: a node's fabric pod, or the gateway. */
  hostName: string;
  /** What stays the same whichever pod speaks for the host: it owns the host's conditions, so those of a former pod go. */
  owner: string;
  /** Of policy rules that name none. */
  defaultPriority: number;
  /** Whether this process speaks for the host. Default: always. */
  reports?: () => boolean;
  /** Called when it may have changed whether there are rules for this host. */
  onNews?: () => void;
  /** Called before rules are carried out: what would pass them by must be out of the way then. */
  makeWay?: () => Promise<void>;
}

/** What a configuration has come to on this host: undefined when it is carried out. */
type Outcomes = Map<string, string | undefined>;

/**
 * Carries out RouteConfigurations and FirewallConfigurations, which users bring, on one host (network specification, §9): in tables of their own, which go with them. What
 * the kernel holds of them bears a mark, so nothing needs to be remembered, and no finalizer is needed: a host that was down when one went takes it off when it is back.
 */
export class HostRules {
  private readonly routes: Informer<RouteConfiguration>;
  private readonly firewalls: Informer<FirewallConfiguration>;
  private readonly tables: FirewallTables;
  private readonly conditions: ConditionWriter;
  private readonly loop: LevelLoop;
  /** Nothing was asked for at the last pass, and nothing is left. */
  private isIdle = false;

  constructor(private readonly options: HostRulesOptions) {
    const { client, run, logger } = options;
    this.routes = new Informer(client, RouteConfigurationResource, { logger });
    this.firewalls = new Informer(client, FirewallConfigurationResource, { logger });
    this.tables = new FirewallTables(run, (change) => tellChange(logger, "nft", change));
    this.conditions = new ConditionWriter({ ...options, fieldManager: rulesManager(options.owner) });
    this.loop = new LevelLoop({ apply: () => this.apply(), logger });
  }

  /** Begins, and goes on until stopped. What has been carried out stays then, as an upgrade must not interrupt traffic. */
  start(): void {
    const { onNews } = this.options;
    const notice = (): void => {
      onNews?.();
      this.loop.trigger();
    };
    this.routes.onEvent(notice).start();
    this.firewalls.onEvent(notice).start();
    // Before both lists are in, rules would be taken for stale. Nothing else waits for these.
    this.routes.onSync(() =>
      this.firewalls.onSync(() => {
        onNews?.();
        this.loop.start();
      }),
    );
  }

  /** Whether it is known that there are no rules for this host. */
  get isUnused(): boolean {
    const { host } = this.options;
    return (
      this.routes.hasSynced &&
      this.firewalls.hasSynced &&
      !this.routes.list().some(({ metadata }) => carriesOutRoutes(host, metadata.labels)) &&
      !this.firewalls.list().some(({ metadata }) => carriesOutFirewall(host, metadata.labels))
    );
  }

  /** Asks for a pass, as something else has changed that matters: a device has come, or this process speaks for the host now. */
  trigger(): void {
    this.loop.trigger();
  }

  /** What `stop` goes by: looked up once more. */
  get sources(): readonly Refreshable[] {
    return [this.routes, this.firewalls];
  }

  /** A node's rules settle: at an uninstallation configurations have gone a moment before, and nobody comes after this process. */
  async stop(): Promise<void> {
    await (this.options.host.remoteClusterID === undefined ? this.loop.settle() : this.loop.stop());
    await Promise.all([this.routes.stop(), this.firewalls.stop()]);
  }

  private async apply(): Promise<void> {
    if (this.isIdle && this.routes.list().length === 0 && this.firewalls.list().length === 0) return;
    this.isIdle = false;
    if (!this.isUnused) await this.options.makeWay?.();
    const outcomes = new Map([...(await this.applyFirewalls()), ...(await this.applyRoutes())]);
    await this.report(outcomes);
    this.isIdle = outcomes.size === 0;
    const problems = [...outcomes.values()].filter((problem) => problem !== undefined);
    // Such as a device that is not there yet: the loop tries again.
    if (problems.length > 0) throw new Error(problems.join("; "));
  }

  private async applyFirewalls(): Promise<Outcomes> {
    const { host } = this.options;
    const outcomes: Outcomes = new Map();
    const wanted = new Map<string, WantedTable>();
    const holders = new Map<string, FirewallConfiguration>();
    for (const configuration of oldestFirst(this.firewalls.list())) {
      const { metadata, spec } = configuration;
      if (metadata.deletionTimestamp || !carriesOutFirewall(host, metadata.labels)) continue;
      const key = tableKey(tableName(spec.table));
      const problem = problemText(firewallProblems(spec.table)) ?? takenBy(holders.get(key), `table ${key}`);
      outcomes.set(uidOf(configuration), problem);
      if (problem !== undefined) continue;
      holders.set(key, configuration);
      const commands = tableCommands(spec.table, `${configuration.kind} ${uidOf(configuration)}`);
      wanted.set(key, { id: tableName(spec.table), commands });
    }
    for (const [key, problem] of await this.tables.apply(wanted)) {
      const holder = holders.get(key);
      if (holder) outcomes.set(uidOf(holder), problem);
    }
    return outcomes;
  }

  private async applyRoutes(): Promise<Outcomes> {
    const { host, defaultPriority, run } = this.options;
    const outcomes: Outcomes = new Map();
    const plans = new Map<number, TablePlan>();
    const holders = new Map<number, RouteConfiguration>();
    for (const configuration of oldestFirst(this.routes.list())) {
      const { metadata, spec } = configuration;
      if (metadata.deletionTimestamp || !spec.table || !carriesOutRoutes(host, metadata.labels)) continue;
      const plan = tablePlan(spec.table, defaultPriority);
      const problem =
        problemText(routeProblems(spec.table)) ?? takenBy(holders.get(plan.id), `table ${spec.table.name}`);
      outcomes.set(uidOf(configuration), problem);
      if (problem !== undefined) continue;
      holders.set(plan.id, configuration);
      plans.set(plan.id, plan);
    }
    for (const [id, problem] of await applyTablePlans(run, [...plans.values()])) {
      const holder = holders.get(id);
      if (holder) outcomes.set(uidOf(holder), problem);
    }
    return outcomes;
  }

  private async report(outcomes: Outcomes): Promise<void> {
    if (this.options.reports?.() === false) return;
    for (const route of this.routes.list())
      await this.conditions.write(RouteConfigurationResource, this.routes, route, outcomes);
    for (const firewall of this.firewalls.list())
      await this.conditions.write(FirewallConfigurationResource, this.firewalls, firewall, outcomes);
  }
}

/** Of two that want one table the older has it. */
function takenBy(holder: KubeObject | undefined, what: string): string | undefined {
  return holder && `${what} is that of ${holder.kind} ${holder.metadata?.namespace}/${holder.metadata?.name} already`;
}

function oldestFirst<T extends KubeObject>(configurations: readonly T[]): T[] {
  const order = ({ metadata }: T): string => `${String(metadata?.creationTimestamp)} ${metadata?.uid}`;
  return [...configurations].sort((a, b) => order(a).localeCompare(order(b)));
}

function problemText(problems: readonly string[]): string | undefined {
  return problems.length > 0 ? problems.join("; ") : undefined;
}

function uidOf({ metadata }: KubeObject): string {
  return metadata?.uid ?? "";
}

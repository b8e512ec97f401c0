import { ConnectionResource, GatewayServerResource, type Connection, type GatewayServer } from "../../api/index.js";
import { Controller, type EventRecorder, type KubeObject, type ResourceType } from "../../runtime/index.js";
import type { ControllerContext, Startable } from "../context.js";

/**
 * Either side. Watches Connections and GatewayServers, whose states gateways and Services bring about; tells on them when a tunnel comes and goes and
 * where a server is reached. Writes events alone. What was before this process began is taken as it is.
 */
export function stateEvents(context: ControllerContext): Startable[] {
  if (!context.config.networkingEnabled) return [];
  return [
    watchState<Connection>(context, ConnectionResource, {
      stateOf: ({ status }) => status?.value ?? "",
      tell(events, connection, state) {
        if (state === "Connected") {
          events.normal(ConnectionResource, connection, "Connected", "the peer's gateway answers");
        } else if (state !== "Connecting") {
          events.warning(
            ConnectionResource,
            connection,
            "ConnectionLost",
            "the peer's gateway does not answer any more",
          );
        }
      },
    }),
    watchState<GatewayServer>(context, GatewayServerResource, {
      stateOf: ({ status }) => endpointOf(status?.endpoint),
      tell(events, server, state) {
        events.normal(GatewayServerResource, server, "EndpointKnown", `clients reach it at ${state}`);
      },
    }),
  ];
}

function endpointOf(endpoint: { addresses?: string[]; port?: number } | undefined): string {
  const addresses = endpoint?.addresses ?? [];
  return addresses.length > 0 && endpoint?.port ? `${addresses.join(", ")}, port ${endpoint.port}` : "";
}

interface State<T> {
  /** "" while there is none. */
  stateOf: (object: T) => string;
  tell: (events: EventRecorder, object: T, state: string) => void;
}

function watchState<T extends KubeObject>(
  context: ControllerContext,
  type: ResourceType<T>,
  { stateOf, tell }: State<T>,
): Controller {
  const informer = context.informers.for(type);
  const name = `${type.kind.toLowerCase()}-events`;
  const events = context.recorder(name);
  const known = new Map<string, string>();
  const began = Date.now();

  function reconcile(key: string): Promise<void> {
    const object = informer.get(key);
    const before = known.get(key) ?? "";
    const isFirst = !known.has(key);
    if (!object) known.delete(key);
    else known.set(key, stateOf(object));
    const state = known.get(key) ?? "";
    const isOld = isFirst && Date.parse(object?.metadata?.creationTimestamp ?? "") < began;
    if (object && !isOld && state !== "" && state !== before) tell(events, object, state);
    return Promise.resolve();
  }

  return new Controller({ name, logger: context.logger, reconcile }).watch(informer);
}

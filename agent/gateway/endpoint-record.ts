import { ConnectionResource, announcedEndpoint, endpointAnnouncement, type ServerEndpoint } from "../api/index.js";
import { messageOf, type KubeClient, type Logger } from "../runtime/index.js";
import { FIELD_MANAGER } from "./constants.js";
import type { GatewaySources } from "./sources.js";

/** Keeps where the server says that it is, on this client's Connection: the next process, or another replica, may find nothing where it was told to look. */
export class EndpointRecord {
  private isWriting = false;
  /** What the server has said last. */
  private heard?: ServerEndpoint;

  /** @param given where this client was told to look */
  constructor(
    private readonly client: KubeClient,
    private readonly sources: Pick<GatewaySources, "connection" | "observeConnection">,
    private readonly given: ServerEndpoint,
    private readonly logger: Logger,
  ) {}

  /** Where the server is now, as it or this cluster's controller has noted it. */
  get announced(): ServerEndpoint | undefined {
    return announcedEndpoint(this.sources.connection?.metadata.annotations, this.given);
  }

  /** Takes what the server says. What cannot be written is said again before long. */
  keep(endpoint: ServerEndpoint): void {
    this.heard = endpoint;
    this.note();
  }

  /** Notes what was said before there was a Connection to note it on. */
  note(): void {
    const { connection } = this.sources;
    if (!connection || !this.heard || this.isWriting) return;
    const { name = "", namespace, annotations: present, uid } = connection.metadata;
    const annotations = endpointAnnouncement(present, this.given, this.heard);
    if (!annotations) return;
    this.isWriting = true;
    this.client
      .mergePatch(
        ConnectionResource,
        { name, namespace },
        { metadata: { uid, annotations } },
        { fieldManager: FIELD_MANAGER },
      )
      .then((written) => this.sources.observeConnection(written))
      .catch((error: unknown) => this.logger.warn({ reason: messageOf(error) }, "server's endpoint not noted"))
      .finally(() => (this.isWriting = false));
  }
}

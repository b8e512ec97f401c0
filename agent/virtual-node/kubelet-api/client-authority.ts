import type { ConfigMap } from "kubernetes-types/core/v1";
import { ConfigMapResource, Informer, type KubeClient, type Logger } from "../../runtime/index.js";

const NAMESPACE = "kube-system";
const NAME = "extension-apiserver-authentication";

/** The authority of client certificates in the consumer's cluster, followed as it is renewed. */
export class ClientAuthority {
  private readonly informer: Informer<ConfigMap>;

  constructor(local: KubeClient, logger: Logger, onChange: () => void) {
    const options = { namespace: NAMESPACE, fieldSelector: `metadata.name=${NAME}`, logger };
    this.informer = new Informer(local, ConfigMapResource, options).onEvent(onChange);
  }

  start(): void {
    this.informer.start();
  }

  stop(): Promise<void> {
    return this.informer.stop();
  }

  /** PEM; undefined while unknown: then no certificate is accepted. */
  get pem(): string | undefined {
    return this.informer.find(NAMESPACE, NAME)?.data?.["client-ca-file"];
  }
}

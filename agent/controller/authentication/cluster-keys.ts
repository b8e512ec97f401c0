import type { Secret } from "kubernetes-types/core/v1";
import { DataKeys, Names } from "../../api/index.js";
import { makeKeyPair, type KeyPair } from "../../crypto/index.js";
import { SecretResource, isAlreadyExists, type Informer } from "../../runtime/index.js";
import type { ControllerContext, Startable } from "../context.js";
import { decodeBase64, encodeBase64 } from "./lookups.js";

/**
 * This cluster's one key pair, in the Secret `authentication-keys`: it signs nonces and is the client key of every identity (control plane
 * specification, §2). Made when absent, never overwritten. Watches that Secret only, by its name.
 */
export class ClusterKeys implements Startable {
  readonly name = "cluster-keys";
  readonly informer: Informer<Secret>;
  private making?: Promise<KeyPair>;

  constructor(private readonly context: ControllerContext) {
    const fieldSelector = `metadata.name=${Names.authenticationKeysSecret}`;
    this.informer = context.informers.for(SecretResource, { namespace: context.config.namespace, fieldSelector });
  }

  async start(): Promise<void> {
    await this.get();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  /** The key pair; makes it when there is none. */
  get(): Promise<KeyPair> {
    const present = readKeys(this.informer.list()[0]);
    if (present) return Promise.resolve(present);
    this.making ??= this.make().finally(() => (this.making = undefined));
    return this.making;
  }

  private async make(): Promise<KeyPair> {
    const { client, config, logger } = this.context;
    const id = { name: Names.authenticationKeysSecret, namespace: config.namespace };
    const pair = await makeKeyPair(config.tlsCompatibilityMode ? "RSA" : "Ed25519");
    const data = {
      [DataKeys.privateKey]: encodeBase64(pair.privateKey),
      [DataKeys.publicKey]: encodeBase64(pair.publicKey),
    };
    try {
      const secret = await client.create(SecretResource, { metadata: id, type: "Opaque", data });
      logger.info({ secret: id.name }, "made this cluster's key pair");
      this.informer.observe(secret);
      return pair;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const keys = readKeys(await client.get(SecretResource, id));
      if (keys) return keys;
      throw new Error(
        `Secret ${id.namespace}/${id.name} lacks ${DataKeys.privateKey} or ${DataKeys.publicKey}: restore it, or delete it to have a new pair made`,
        { cause: error },
      );
    }
  }
}

function readKeys(secret: Secret | undefined): KeyPair | undefined {
  const privateKey = decodeBase64(secret?.data?.[DataKeys.privateKey]).toString("utf8");
  const publicKey = decodeBase64(secret?.data?.[DataKeys.publicKey]).toString("utf8");
  return privateKey && publicKey ? { privateKey, publicKey } : undefined;
}

import { randomBytes } from "node:crypto";
import type { CertificateSigningRequest } from "kubernetes-types/certificates/v1";
import { stringify } from "yaml";
import { Names, peeringUserName } from "../../../agent/api/index.js";
import { makeCertificateRequest, makeKeyPair, validityOf } from "../../../agent/crypto/index.js";
import {
  CertificateSigningRequestResource,
  ClusterRoleResource,
  isAlreadyExists,
  NamespaceResource,
  RoleBindingResource,
  type KubeClient,
} from "../../../agent/runtime/index.js";
import { addObjectMetadata } from "../../kube/object-metadata.js";
import { agentNamespaceToTell, NOTHING_TO_TELL, type Peer } from "../../preconditions/index.js";
import { ifVisible, waitFor, waitUntilGone, type Progress } from "../../waits/index.js";
import { ensureTenantNamespace, MANAGER } from "../tenant-namespace/index.js";
import { describeBindings, bindingsOfOthers, markedBinding, refuseOfOthers, type Owner } from "./made-by.js";
import { bindingManifests, bindingNames, signingRequestManifest, userKubeconfig } from "./manifests.js";
import type { PeeringUserInputs, PeeringUserOutputs } from "./schema.js";

const RANDOM_BYTES = 16;

/**
 * Makes a user with the rights that peering needs, and its kubeconfig. Each call makes a new name and key: an earlier certificate cannot be revoked, but
 * its name is bound to nothing any more (control plane specification, §18).
 *
 * @param owner whose it is to be
 * @throws Error before anything is made when the consumer's peering user is another's
 */
export async function generateUser(
  progress: Progress,
  provider: Peer,
  inputs: PeeringUserInputs,
  owner: Owner,
  begun: (outputs: Partial<PeeringUserOutputs>) => void,
): Promise<Omit<PeeringUserOutputs, "drift">> {
  const { client } = provider;
  const { consumerClusterId } = inputs;
  await checkRole(client, progress.signal);
  const userName = `${peeringUserName(consumerClusterId)}-${randomBytes(RANDOM_BYTES).toString("hex")}`;
  const ids = { providerClusterId: provider.clusterId, userName };
  await claimUser(progress, provider, inputs, { ...owner, newName: userName }, () => begun(ids));
  begun(ids);
  const { name: tenantNamespace } = await ensureTenantNamespace(progress, provider, consumerClusterId, "PeeringUser");
  const outputs = { ...ids, tenantNamespace };
  begun(outputs);
  const keys = await makeKeyPair(inputs.tlsCompatibilityMode ? "RSA" : "Ed25519");
  const csr = makeCertificateRequest({ commonName: userName, organization: Names.controlPlaneGroup }, keys.privateKey);
  const certificate = await sign(
    progress,
    client,
    addObjectMetadata(signingRequestManifest(consumerClusterId, csr, inputs.expirationSeconds), inputs),
  );
  progress.status("certificate signed");
  await bind(progress, provider, { consumerClusterId, userName, tenantNamespace }, owner);
  const { ca } = (await client.transport.credentials()).tls;
  const kubeconfig = userKubeconfig({
    providerClusterId: provider.clusterId,
    consumerClusterId,
    server: inputs.apiServer ?? client.transport.server,
    ca: ca === undefined ? undefined : Buffer.from(ca).toString("base64"),
    certificate,
    privateKey: keys.privateKey,
    namespace: tenantNamespace,
  });
  const validity = validityOf(Buffer.from(certificate, "base64"));
  if (!validity) throw new Error(`cluster ${client.cluster}: what it has signed is no certificate`);
  const expirationTimestamp = new Date(validity.notAfter).toISOString();
  return { ...outputs, kubeconfig: stringify(kubeconfig), expirationTimestamp };
}

/** Makes the first binding, unless there is one of this owner: of several PeeringUsers that begin at once the API server lets one through. */
async function claimUser(
  { signal }: Progress,
  provider: Peer,
  inputs: PeeringUserInputs,
  { newName, ...owner }: Owner & { newName: string },
  begun: () => void,
): Promise<void> {
  const { client, agentNamespace } = provider;
  const { consumerClusterId } = inputs;
  await refuseOfOthers(provider, consumerClusterId, owner, signal);
  const namespaces = { installation: agentNamespace, tenant: "" };
  const [reader] = bindingManifests(consumerClusterId, newName, namespaces);
  try {
    const binding = addObjectMetadata(markedBinding(reader, owner), inputs);
    await client.create(RoleBindingResource, binding, { fieldManager: MANAGER, signal });
  } catch (error) {
    if (isAlreadyExists(error)) return refuseOfOthers(provider, consumerClusterId, owner, signal);
    // It may have been made all the same, where the call broke off.
    begun();
    throw error;
  }
}

/** Gives a user that is there its rights, as they are to be labelled now. */
export async function bindUser(
  progress: Progress,
  provider: Peer,
  consumerClusterId: string,
  owner: Required<Owner>,
): Promise<void> {
  const { name } = await ensureTenantNamespace(progress, provider, consumerClusterId, "PeeringUser");
  await bind(progress, provider, { consumerClusterId, userName: owner.userName, tenantNamespace: name }, owner);
}

async function bind(
  progress: Progress,
  { client, agentNamespace }: Peer,
  {
    consumerClusterId,
    userName,
    tenantNamespace,
  }: Record<"consumerClusterId" | "userName" | "tenantNamespace", string>,
  owner: Owner,
): Promise<void> {
  const namespaces = { installation: agentNamespace, tenant: tenantNamespace };
  for (const binding of bindingManifests(consumerClusterId, userName, namespaces)) {
    await client.apply(RoleBindingResource, markedBinding(binding, owner), {
      fieldManager: MANAGER,
      signal: progress.signal,
    });
  }
  const annotations = agentNamespaceToTell(agentNamespace);
  if (annotations) await annotate(progress, client, tenantNamespace, annotations);
  progress.status("rights given");
}

/** By a patch, as the namespace's other metadata is of whoever made it. */
async function annotate(
  { signal }: Progress,
  client: KubeClient,
  name: string,
  annotations: Record<string, string | null>,
): Promise<void> {
  const patch = { metadata: { annotations } };
  await client.mergePatch(NamespaceResource, { name }, patch, { fieldManager: MANAGER, signal });
}

/** Removes bindings and request: without the bindings the certificate is worth nothing. Those of another's user stay. */
export async function removeUser(
  progress: Progress,
  provider: Peer,
  consumerClusterId: string,
  tenantNamespace: string | undefined,
  owner: Owner,
): Promise<void> {
  const { client, agentNamespace } = provider;
  const others = await bindingsOfOthers(provider, consumerClusterId, owner, progress.signal);
  if (others.length > 0) return progress.status(`left, as another's: ${describeBindings(others)}`);
  const names = bindingNames(consumerClusterId);
  const options = { signal: progress.signal };
  await Promise.all([
    client.delete(RoleBindingResource, { name: names.installation, namespace: agentNamespace }, options),
    tenantNamespace && client.delete(RoleBindingResource, { name: names.tenant, namespace: tenantNamespace }, options),
    client.delete(CertificateSigningRequestResource, { name: peeringUserName(consumerClusterId) }, options),
  ]);
  if (tenantNamespace && agentNamespaceToTell(agentNamespace)) {
    // A namespace of somebody else's outlives the user.
    await ifVisible(annotate(progress, client, tenantNamespace, NOTHING_TO_TELL));
  }
  progress.status("rights taken back");
}

async function checkRole(client: KubeClient, signal: AbortSignal): Promise<void> {
  if (await client.get(ClusterRoleResource, { name: Names.peeringUserTenantRole }, signal)) return;
  throw new Error(
    `cluster ${client.cluster}: the ClusterRole ${Names.peeringUserTenantRole} is missing: is the agent installed completely?`,
  );
}

/** Has the cluster sign the request; the certificate is base64 of PEM. An earlier request of the name is dropped: its key is lost. */
async function sign(progress: Progress, client: KubeClient, request: CertificateSigningRequest): Promise<string> {
  const name = request.metadata?.name ?? "";
  if (await client.delete(CertificateSigningRequestResource, { name }, { signal: progress.signal })) {
    await waitUntilGone(progress, client, CertificateSigningRequestResource, { name });
  }
  const created = await client.create(CertificateSigningRequestResource, request, {
    fieldManager: MANAGER,
    signal: progress.signal,
  });
  const condition = {
    type: "Approved",
    status: "True",
    reason: "IdentityManagerApproval",
    message: "approved for a peering user",
    lastUpdateTime: new Date().toISOString(),
  };
  await client.request("PUT", `/apis/certificates.k8s.io/v1/certificatesigningrequests/${name}/approval`, {
    body: { ...created, status: { conditions: [condition] } },
    signal: progress.signal,
    subject: `the approval of CertificateSigningRequest ${name}`,
  });
  return waitFor<CertificateSigningRequest, string>(progress, {
    client,
    type: CertificateSigningRequestResource,
    name,
    what: `the certificate of CertificateSigningRequest ${name}`,
    judge: ([current]) => {
      const certificate = current?.status?.certificate;
      if (certificate) return { done: certificate };
      const failed = current?.status?.conditions?.find(({ type }) => type === "Failed" || type === "Denied");
      if (failed) return { failed: failed.message ?? failed.reason ?? failed.type };
      return { waiting: "the cluster has not signed it yet" };
    },
  });
}

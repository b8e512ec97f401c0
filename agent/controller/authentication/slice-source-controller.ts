import { Labels, ResourceSliceResource, type ResourceSlice, type ResourceSliceSpec } from "../../api/index.js";
import { makeCertificateRequest, sliceSubject } from "../../crypto/index.js";
import { Controller, TerminalError, isDeleting, keyOf } from "../../runtime/index.js";
import type { AuthenticationArea } from "./area.js";
import { encodeBase64, isReplicationSource, remoteClusterOf } from "./lookups.js";
import { isCertificateOf, isRequestBy } from "./own-key.js";

/**
 * Consumer. Watches its own ResourceSlices; fills in what their spec lacks: both cluster IDs and the certificate request (control plane
 * specification, §6). A request that is there is replaced only when the cluster has other keys by now, and the provider knows them: before, it
 * would deny the slice.
 */
export function sliceSourceController(area: AuthenticationArea): Controller {
  const { client, logger, config } = area.context;
  const { slices, namespaces, identities } = area.informers;

  async function reconcile(key: string): Promise<void> {
    const slice = slices.get(key);
    if (!slice || !isReplicationSource(slice) || isDeleting(slice)) return;
    const spec = await missingFields(slice);
    if (Object.keys(spec).length === 0) return;
    const { name = "", namespace = "", resourceVersion } = slice.metadata;
    const patch = { metadata: { resourceVersion }, spec };
    slices.observe(await client.mergePatch(ResourceSliceResource, { name, namespace }, patch));
  }

  async function missingFields(slice: ResourceSlice): Promise<Partial<ResourceSliceSpec>> {
    const { consumerClusterID, providerClusterID, csr } = slice.spec;
    return {
      ...(consumerClusterID ? {} : { consumerClusterID: config.clusterId }),
      ...(providerClusterID ? {} : { providerClusterID: providerOf(slice) }),
      ...(csr && !(await isOfFormerKey(slice)) ? {} : { csr: await request(slice) }),
    };
  }

  /** By its certificate for this cluster's control plane the provider tells which key it knows. */
  async function isOfFormerKey({ spec, metadata }: ResourceSlice): Promise<boolean> {
    const keys = await area.keys.get();
    if (isRequestBy(keys, spec.csr) !== false) return false;
    return identities
      .inNamespace(metadata.namespace ?? "")
      .some(
        ({ spec: { type, authParams } }) => type === "ControlPlane" && isCertificateOf(keys, authParams?.signedCRT),
      );
  }

  function providerOf(slice: ResourceSlice): string {
    const namespace = namespaces.get(slice.metadata.namespace ?? "");
    const provider = remoteClusterOf(slice) ?? (namespace && remoteClusterOf(namespace));
    if (provider) return provider;
    throw new TerminalError(
      `neither ResourceSlice ${keyOf(slice)} nor its namespace has the label ${Labels.remoteClusterID}`,
    );
  }

  async function request(slice: ResourceSlice): Promise<string> {
    const { privateKey } = await area.keys.get();
    return encodeBase64(makeCertificateRequest(sliceSubject(slice.metadata.name ?? "", config.clusterId), privateKey));
  }

  return new Controller({ name: "resourceslice-source-controller", logger, reconcile })
    .watch(slices)
    .watch(identities, ({ metadata }) => slices.inNamespace(metadata.namespace ?? "").map(keyOf))
    .watch(namespaces, ({ metadata }) => slices.inNamespace(metadata?.name ?? "").map(keyOf));
}

import * as pulumi from "@pulumi/pulumi";
import { peerTwoClusters } from "./program";

const config = new pulumi.Config();

export const {
  consumerClusterId,
  providerClusterId,
  virtualNodeName,
  acceptedResources,
  remappedCIDRs,
  endpoint,
  remoteNamespace,
} = peerTwoClusters({
  consumer: {
    kubeconfig: config.get("consumerKubeconfig"),
    context: config.get("consumerContext"),
    clusterId: "consumer",
  },
  provider: {
    kubeconfig: config.get("providerKubeconfig"),
    context: config.get("providerContext"),
    clusterId: "provider",
  },
  namespace: config.get("namespace") ?? "demo",
  image: config.get("image"),
});

import * as pulumi from "@pulumi/pulumi";
import { deployShop } from "./program";

const config = new pulumi.Config();

export const { node, address } = deployShop({
  consumer: { kubeconfig: config.requireSecret("consumerKubeconfig") },
  provider: { kubeconfig: config.requireSecret("providerKubeconfig") },
});

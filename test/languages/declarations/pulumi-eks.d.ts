// What the documentation uses of @pulumi/eks, as its version 4.3.0 declares it. It and the packages that it needs take 170 MB.
declare module "@pulumi/eks" {
  import * as pulumi from "@pulumi/pulumi";

  export interface ClusterOptions {
    desiredCapacity?: pulumi.Input<number>;
    minSize?: pulumi.Input<number>;
    maxSize?: pulumi.Input<number>;
  }

  export class Cluster extends pulumi.ComponentResource {
    constructor(name: string, args?: ClusterOptions, opts?: pulumi.ComponentResourceOptions);
    /** An object, as programs in Go and C# have it, too. */
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the package itself declares it
    readonly kubeconfig: pulumi.Output<any>;
    readonly kubeconfigJson: pulumi.Output<string>;
    readonly nodeSecurityGroupId: pulumi.Output<string>;
  }
}

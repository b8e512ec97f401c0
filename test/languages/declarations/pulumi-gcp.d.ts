// What the documentation uses of @pulumi/gcp, as its version 9.37.0 declares it; it takes 86 MB.
declare module "@pulumi/gcp" {
  import * as pulumi from "@pulumi/pulumi";

  export namespace container {
    interface ClusterArgs {
      location?: pulumi.Input<string>;
      initialNodeCount?: pulumi.Input<number>;
      deletionProtection?: pulumi.Input<boolean>;
    }
    interface ClusterMasterAuth {
      clusterCaCertificate: string;
    }
    class Cluster extends pulumi.CustomResource {
      constructor(name: string, args: ClusterArgs, opts?: pulumi.CustomResourceOptions);
      readonly name: pulumi.Output<string>;
      readonly endpoint: pulumi.Output<string>;
      readonly clusterIpv4Cidr: pulumi.Output<string>;
      readonly servicesIpv4Cidr: pulumi.Output<string>;
      readonly masterAuth: pulumi.Output<ClusterMasterAuth>;
    }
  }
}

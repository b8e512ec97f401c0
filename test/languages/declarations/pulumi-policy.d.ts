// What the documentation uses of @pulumi/policy, as its version 1.21.0 declares it: it wants a later Pulumi SDK than this repository has.
declare module "@pulumi/policy" {
  export type ReportViolation = (message: string, urn?: string) => void;

  export interface ResourceValidationArgs {
    type: string;
    name: string;
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as the package itself declares it
    props: Record<string, any>;
  }

  export interface ResourceValidationPolicy {
    name: string;
    description: string;
    enforcementLevel?: "advisory" | "mandatory" | "remediate" | "disabled";
    validateResource(args: ResourceValidationArgs, reportViolation: ReportViolation): Promise<void> | void;
  }

  export class PolicyPack {
    constructor(name: string, args: { policies: ResourceValidationPolicy[] });
  }
}

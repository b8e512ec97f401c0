/** The oldest Pulumi SDK of each language that the generated code compiles with and runs on; docs/languages.md lists them. */
const OLDEST_SDK = { nodejs: "3.142.0", python: "3.142.0", dotnet: "3.76.1", java: "1.0.0" } as const;

/** The Go module of the SDK; the package lies in its folder of the plugin's name. */
const GO_MODULE = "github.com/pulumi-liqo/pulumi-liqo/sdk/go";

/**
 * What each language's generator is told beyond the schema: names of packages, and what they need. Packages state the
 * schema's version, by which the engine finds the plugin that belongs to them.
 */
export function languages(packageName: string, description: string): Record<string, unknown> {
  return {
    nodejs: {
      packageName: `pulumi-${packageName}`,
      packageDescription: description,
      respectSchemaVersion: true,
      dependencies: { "@pulumi/pulumi": `^${OLDEST_SDK.nodejs}` },
    },
    python: {
      packageName: `pulumi_${packageName}`,
      respectSchemaVersion: true,
      pyproject: { enabled: true },
      pythonRequires: ">=3.9",
      requires: { pulumi: `>=${OLDEST_SDK.python},<4.0.0` },
      inputTypes: "classes-and-dicts",
    },
    go: {
      importBasePath: `${GO_MODULE}/${packageName}`,
      respectSchemaVersion: true,
      generateResourceContainerTypes: true,
    },
    csharp: {
      namespaces: { [packageName]: "Liqo" },
      packageReferences: { Pulumi: `[${OLDEST_SDK.dotnet},4)` },
      respectSchemaVersion: true,
    },
    java: {
      // The project file beside the generated code is written by hand: Maven's, which Gradle projects can use as well.
      buildFiles: "none",
      dependencies: { "com.pulumi:pulumi": OLDEST_SDK.java },
    },
  };
}

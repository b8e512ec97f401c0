import programs from "./examples.json" with { type: "json" };

/** The words that mark each language's blocks in documentation, in the order of Pulumi's own pages. */
export const EXAMPLE_LANGUAGES = ["typescript", "python", "go", "csharp", "java", "yaml"] as const;

/** A program for each resource, by its name without the module, in each language. */
export type Examples = Record<string, Partial<Record<(typeof EXAMPLE_LANGUAGES)[number], string>>>;

/** Made by `npm run generate` from the programs in examples/. */
export const EXAMPLES: Examples = programs;

/** A resource's description with its example, in the form of which each SDK takes its own language's part. */
export function withExample(description: string, token: string, examples: Examples): string {
  const example = examples[token.split(":").at(-1) ?? ""];
  if (!example) return description;
  const blocks = EXAMPLE_LANGUAGES.flatMap((language) => {
    const text = example[language];
    return text ? [`\`\`\`${language}\n${text}\`\`\``] : [];
  });
  return [
    description,
    "{{% examples %}}",
    "## Example Usage",
    "{{% example %}}",
    ...blocks,
    "{{% /example %}}",
    "{{% /examples %}}",
  ].join("\n\n");
}

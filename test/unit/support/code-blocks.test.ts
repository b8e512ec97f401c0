import { expect } from "chai";
import { blocksIn } from "../../support/code-blocks.js";
import { shellCommands } from "../../support/shell-commands.js";

describe("code blocks of pages", () => {
  it("are found with their place and language, also in lists and within longer fences", () => {
    const page = [
      "# A",
      "```sh",
      "npm test",
      "```",
      "- b",
      "",
      "  ```yaml",
      "  a: 1",
      "  ```",
      "````",
      "```",
      "````",
      "",
    ];
    expect(blocksIn("x.md", page.join("\n"))).to.deep.equal([
      { page: "x.md", line: 3, language: "sh", text: "npm test\n" },
      { page: "x.md", line: 8, language: "yaml", text: "a: 1\n" },
      { page: "x.md", line: 11, language: "", text: "```\n" },
    ]);
  });

  it("must be closed", () => {
    expect(() => blocksIn("x.md", "a\n```sh\nnpm test\n")).to.throw("x.md:2: the block is not closed");
  });
});

describe("shell commands of a block", () => {
  const words = (text: string) => shellCommands(text).map((one) => one.words);

  it("are words without comments and quotes, over several lines, and apart in pipes and lists", () => {
    expect(
      words("npm test   # all\n# nothing\na --set 'b=[c d]' \\\n  --x=\"y z\" | kubectl apply -f -\ncd q && ls"),
    ).to.deep.equal([
      ["npm", "test"],
      ["a", "--set", "b=[c d]", "--x=y z"],
      ["kubectl", "apply", "-f", "-"],
      ["cd", "q"],
      ["ls"],
    ]);
  });

  it("keep what a shell would fill in", () => {
    expect(words('a "$(cat x | y)" $(b c) d#e')).to.deep.equal([["a", "$(cat x | y)", "$(b c)", "d#e"]]);
  });
});

/** A text, of one line or more, with what belongs to it below. */
export interface Branch {
  text: string;
  children?: readonly Branch[];
}

/** A tree as lines, as `tree` and `npm ls` draw it. */
export function tree({ text, children = [] }: Branch): string[] {
  return [...text.split("\n"), ...branches(children)];
}

function branches(children: readonly Branch[]): string[] {
  return children.flatMap((child, index) => {
    const isLast = index === children.length - 1;
    const [first = "", ...rest] = tree(child);
    return [`${isLast ? "└─" : "├─"} ${first}`, ...rest.map((line) => `${isLast ? "  " : "│ "} ${line}`)];
  });
}

/**
 * The part of Go's text/template that gateway templates use (network specification, §5.1): field paths, `$`, literals, index,
 * len, eq, ne, not, and, or, if/else/end, range/else/end, with/else/end, comments and trim markers.
 */
export function renderTemplate(text: string, data: unknown): string {
  return renderNodes(parseTemplate(text), data, data);
}

/** The value of a template that is nothing but one action, such as `{{ .Spec.Port }}`; undefined for any other text. */
export function singleAction(text: string): ((data: unknown) => unknown) | undefined {
  const match = /^\s*\{\{-?\s*((?:(?!\}\}).)*?)\s*-?\}\}\s*$/s.exec(text);
  if (!match?.[1] || /^(if|range|with|else|end)\b/.test(match[1])) return undefined;
  const expression = match[1];
  return (data) => evaluate(expression, data, data);
}

/** Go's notion of a value that counts as false. */
export function isZero(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" && Object.keys(value).length === 0;
}

type Node =
  | { type: "text"; text: string }
  | { type: "value"; expression: string }
  | { type: "if" | "range" | "with"; expression: string; body: Node[]; otherwise: Node[] };

interface Token {
  action: boolean;
  text: string;
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let rest = text;
  let trimNext = false;
  for (;;) {
    const start = rest.indexOf("{{");
    if (start < 0) break;
    const end = rest.indexOf("}}", start);
    if (end < 0) throw new Error(`template "${text.slice(0, 80)}": "{{" without "}}"`);
    const inner = rest.slice(start + 2, end);
    const trimsBefore = /^-\s/.test(inner);
    const trimsAfter = /\s-$/.test(inner);
    let before = rest.slice(0, start);
    if (trimNext) before = before.trimStart();
    if (trimsBefore) before = before.trimEnd();
    tokens.push({ action: false, text: before });
    const action = inner.slice(trimsBefore ? 1 : 0, trimsAfter ? -1 : undefined).trim();
    if (!action.startsWith("/*")) tokens.push({ action: true, text: action });
    trimNext = trimsAfter;
    rest = rest.slice(end + 2);
  }
  tokens.push({ action: false, text: trimNext ? rest.trimStart() : rest });
  return tokens;
}

function parseTemplate(text: string): Node[] {
  const tokens = tokenize(text);
  let position = 0;
  const parseBlock = (opened?: string): { nodes: Node[]; ended: string } => {
    const nodes: Node[] = [];
    while (position < tokens.length) {
      const token = tokens[position++];
      if (!token) break;
      if (!token.action) {
        if (token.text !== "") nodes.push({ type: "text", text: token.text });
        continue;
      }
      const [word = "", ...others] = token.text.split(/\s+/);
      if (word === "end" || word === "else") {
        if (!opened) throw new Error(`template "${text.slice(0, 80)}": "${token.text}" without a block`);
        return { nodes, ended: token.text };
      }
      if (word === "if" || word === "range" || word === "with") nodes.push(block(word, others.join(" ")));
      else nodes.push({ type: "value", expression: token.text });
    }
    if (opened) throw new Error(`template "${text.slice(0, 80)}": "${opened}" without "end"`);
    return { nodes, ended: "" };
  };
  const block = (type: "if" | "range" | "with", expression: string): Node => {
    const body = parseBlock(type);
    if (body.ended === "end") return { type, expression, body: body.nodes, otherwise: [] };
    const chained = /^else if (.*)$/s.exec(body.ended);
    if (chained?.[1]) return { type, expression, body: body.nodes, otherwise: [block("if", chained[1])] };
    return { type, expression, body: body.nodes, otherwise: parseBlock(type).nodes };
  };
  return parseBlock().nodes;
}

function renderNodes(nodes: readonly Node[], dot: unknown, root: unknown): string {
  return nodes.map((node) => renderNode(node, dot, root)).join("");
}

function renderNode(node: Node, dot: unknown, root: unknown): string {
  switch (node.type) {
    case "text":
      return node.text;
    case "value":
      return textOf(evaluate(node.expression, dot, root));
    case "if":
      return renderNodes(isZero(evaluate(node.expression, dot, root)) ? node.otherwise : node.body, dot, root);
    case "with": {
      const value = evaluate(node.expression, dot, root);
      return isZero(value) ? renderNodes(node.otherwise, dot, root) : renderNodes(node.body, value, root);
    }
    case "range": {
      const value = evaluate(node.expression, dot, root);
      const items = typeof value === "object" && value !== null ? Object.values(value) : [];
      if (items.length === 0) return renderNodes(node.otherwise, dot, root);
      return items.map((item) => renderNodes(node.body, item, root)).join("");
    }
  }
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  // Numbers and booleans as themselves; Go's own form of maps and lists is of no use in a manifest.
  return JSON.stringify(value);
}

/** Evaluates one pipeline-free expression: a function with operands, or one operand. */
function evaluate(expression: string, dot: unknown, root: unknown): unknown {
  const words = splitWords(expression);
  const [name = "", ...rest] = words;
  const apply = FUNCTIONS[name];
  if (apply) return apply(rest.map((word) => operand(word, dot, root)));
  if (rest.length > 0) throw new Error(`template: "${expression}" is not supported: unknown function "${name}"`);
  return operand(name, dot, root);
}

const FUNCTIONS: Record<string, (operands: unknown[]) => unknown> = {
  index: ([collection, ...keys]) => keys.reduce((value, key) => member(value, String(key as string)), collection),
  len: ([value]) => (typeof value === "string" ? value.length : Object.keys(value ?? {}).length),
  eq: ([first, ...others]) => others.some((other) => other === first),
  ne: ([a, b]) => a !== b,
  not: ([value]) => isZero(value),
  and: (operands) => operands.find(isZero) ?? operands.at(-1),
  or: (operands) => operands.find((value) => !isZero(value)) ?? operands.at(-1),
};

/** Splits at blanks outside of quotes and parentheses. */
function splitWords(expression: string): string[] {
  const words: string[] = [];
  let depth = 0;
  let quote = "";
  let word = "";
  for (const character of expression) {
    if (quote) quote = character === quote ? "" : quote;
    else if (character === '"' || character === "`") quote = character;
    else if (character === "(") depth += 1;
    else if (character === ")") depth -= 1;
    if (/\s/.test(character) && depth === 0 && !quote) {
      if (word) words.push(word);
      word = "";
    } else word += character;
  }
  if (word) words.push(word);
  return words;
}

function operand(word: string, dot: unknown, root: unknown): unknown {
  if (word.startsWith("(") && word.endsWith(")")) return evaluate(word.slice(1, -1), dot, root);
  if (/^".*"$/s.test(word)) return JSON.parse(word) as string;
  if (/^`.*`$/s.test(word)) return word.slice(1, -1);
  if (/^-?\d+$/.test(word)) return Number(word);
  if (word === "true" || word === "false") return word === "true";
  if (word === ".") return dot;
  if (word === "$") return root;
  const path = /^(\$?)((?:\.[A-Za-z_][A-Za-z0-9_]*)+)$/.exec(word);
  if (!path?.[2]) throw new Error(`template: "${word}" is not supported`);
  return path[2]
    .slice(1)
    .split(".")
    .reduce(member, path[1] ? root : dot);
}

/** A field by its Go name (`.LoadBalancerIP`), which differs from the JSON name (`loadBalancerIP`) in case only. */
function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const fields = value as Record<string, unknown>;
  if (name in fields) return fields[name];
  const key = Object.keys(fields).find((candidate) => candidate.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : fields[key];
}

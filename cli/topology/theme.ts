/** Colours of the picture, by what they stand for. Text has a contrast of at least 4.5 on what it stands on. */
export interface Theme {
  page: string;
  card: string;
  border: string;
  text: string;
  dim: string;
  accent: string;
  track: string;
  good: string;
  bad: string;
  off: string;
  full: string;
}

export const THEMES = ["auto", "light", "dark"] as const;
export type ThemeName = (typeof THEMES)[number];

const LIGHT: Theme = {
  page: "#f6f8fa",
  card: "#ffffff",
  border: "#d0d7de",
  text: "#1f2328",
  dim: "#59636e",
  accent: "#0969da",
  track: "#e4e8ec",
  good: "#1a7f37",
  bad: "#cf222e",
  off: "#818b98",
  full: "#bc4c00",
};

const DARK: Theme = {
  page: "#0d1117",
  card: "#161b22",
  border: "#3d444d",
  text: "#f0f6fc",
  dim: "#9198a1",
  accent: "#58a6ff",
  track: "#30363d",
  good: "#3fb950",
  bad: "#f85149",
  off: "#7d8590",
  full: "#f0883e",
};

/** The style sheet of a picture; auto follows what the reader's system asks for. */
export function styleSheet(theme: ThemeName): string {
  if (theme === "light") return rules(LIGHT);
  if (theme === "dark") return rules(DARK);
  return `${rules(LIGHT)}\n@media (prefers-color-scheme: dark) {\n${rules(DARK)}\n}`;
}

function rules(theme: Theme): string {
  const { page, card, border, text, dim, accent, track, good, bad, off, full } = theme;
  return [
    `.page { fill: ${page} }`,
    `.card { fill: ${card}; stroke: ${border} }`,
    `.pill { fill: ${card}; stroke: ${border} }`,
    `.rule { stroke: ${border} }`,
    `.text { fill: ${text} }`,
    `.dim { fill: ${dim} }`,
    `.warn { fill: ${bad} }`,
    `.track { fill: ${track} }`,
    `.bar { fill: ${accent} }`,
    `.bar-full { fill: ${full} }`,
    ...(["good", "bad", "off"] as const).flatMap((name) => {
      const colour = { good, bad, off }[name];
      return [`.dot-${name} { fill: ${colour} }`, `.line-${name} { stroke: ${colour} }`];
    }),
  ].join("\n");
}

/** What a new page begins with. */
export const pageTemplates = ["blank", "guide", "decision", "meeting"] as const;
export type PageTemplate = (typeof pageTemplates)[number];

const bodies: Record<PageTemplate, string[]> = {
  blank: [],
  guide: ["What this is for, in one sentence.", "## Before you start", "## Steps", "1. ", "## If something goes wrong"],
  decision: ["Status: proposed", "## Context", "## Decision", "## Consequences"],
  meeting: ["Date: \nPresent: ", "## Notes", "## Decisions", "## To do", "- [ ] "],
};

/** The text of a new page with this title. */
export const fromTemplate = (template: PageTemplate, title: string): string =>
  `${[`# ${title}`, ...bodies[template]].join("\n\n")}\n`;

/** A title for a file: "docs/how-we-deploy.md" becomes "How we deploy". */
export function titleFromPath(path: string): string {
  const name = (path.split("/").at(-1) ?? "").replace(/\.(md|markdown)$/, "");
  const words = name.replace(/[-_]+/g, " ").trim();
  return words === "" ? "Untitled" : `${words[0]?.toUpperCase()}${words.slice(1)}`;
}

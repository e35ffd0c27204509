import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

type Group = { text: string; items: { text: string; link: string }[] };

const site = "https://github.com/scriptorium-dev/scriptorium/blob/main/docs";

/** The groups of the site's sidebar. */
export const sidebar = (docs: string) =>
  JSON.parse(readFileSync(join(docs, ".vitepress/sidebar.json"), "utf8")) as Group[];

/** The file of a link in the sidebar: `/clients/` is clients/index.md. */
export const fileOf = (link: string) => `${link.slice(1)}${link.endsWith("/") ? "index" : ""}.md`;

/** An index of the documentation for language models (llmstxt.org): every page with its first sentence. */
export function llmsText(docs: string): string {
  const sections = sidebar(docs).map(({ text, items }) =>
    [
      `## ${text}`,
      "",
      ...items.map(({ text: title, link }) => `- [${title}](${site}/${fileOf(link)}): ${firstSentence(docs, link)}`),
    ].join("\n"),
  );
  const about =
    "> Shared memory for coding agents: markdown in git, with write permissions, version conflicts and human review. Command `scriptorium` for people, `scribe` and MCP for agents.";
  return `${["# Scriptorium", about, ...sections].join("\n\n")}\n`;
}

function firstSentence(docs: string, link: string): string {
  const file = join(docs, fileOf(link));
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const [paragraph = ""] = text
    .replace(/^# .*$/m, "")
    .replaceAll(/<!--[\s\S]*?-->/g, "")
    .split("\n\n")
    .map((part) => part.trim())
    .filter((part) => /^[A-Z`[*]/.test(part) && !part.startsWith("```"));
  const plain = paragraph
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[*\n]+/g, (mark) => (mark.includes("*") ? "" : " "));
  return /^.+?[.?](?=\s|$)/.exec(plain)?.[0] ?? plain.replace(/:$/, "");
}

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { type DefaultTheme, defineConfig } from "vitepress";

const docs = fileURLToPath(new URL("..", import.meta.url));
const repository = "https://github.com/scriptorium-dev/scriptorium";
const read = (path: string) => readFileSync(join(docs, path), "utf8");
const sidebar = JSON.parse(read(".vitepress/sidebar.json")) as DefaultTheme.SidebarItem[];

/** One page per decision, newest first. */
const decisions: DefaultTheme.SidebarItem = {
  text: "Decisions",
  collapsed: true,
  items: readdirSync(join(docs, "decisions"))
    .filter((file) => file.endsWith(".md"))
    .sort()
    .reverse()
    .map((file) => ({
      text: /^# (.+)$/m.exec(read(`decisions/${file}`))?.[1] ?? file,
      link: `/decisions/${file.replace(/\.md$/, "")}`,
    })),
};

/** Files outside docs/ are not pages of the site: links to them lead to the repository. */
function linkOutside(href: string, page: string): string {
  if (/^([a-z]+:|#|\/)/i.test(href)) return href;
  const path = posix.join("docs", dirname(page), href);
  if (path.startsWith("docs/") && path !== "docs/decisions/") return href;
  return `${repository}/blob/main/${path}`;
}

export default defineConfig({
  title: "Scriptorium",
  description: "Shared memory for coding agents: markdown in git, with permissions, version conflicts and human review",
  cleanUrls: true,
  lastUpdated: true,
  srcExclude: ["node_modules/**"],
  themeConfig: {
    sidebar: [...sidebar, decisions],
    search: { provider: "local" },
    outline: [2, 3],
    socialLinks: [{ icon: "github", link: repository }],
    editLink: { pattern: `${repository}/edit/main/docs/:path` },
  },
  markdown: {
    config(md) {
      md.core.ruler.push("links-outside", ({ tokens, env }) => {
        for (const token of tokens.flatMap((block) => block.children ?? [])) {
          const href = token.type === "link_open" ? token.attrGet("href") : null;
          if (href) token.attrSet("href", linkOutside(href, env.relativePath));
        }
      });
    },
  },
  /** All pages as one text, for language models. */
  buildEnd({ outDir, pages }) {
    const text = pages.map((page) => `<!-- ${repository}/blob/main/docs/${page} -->\n\n${read(page)}`).join("\n\n");
    writeFileSync(join(outDir, "llms-full.txt"), text);
  },
});

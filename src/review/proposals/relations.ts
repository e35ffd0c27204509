import { posix } from "node:path";
import * as z from "zod";
import { linkTargets, nodeOfLink } from "../../kernel/markdown/links.ts";
import { entriesThatLink } from "../../store/queries/links.ts";
import { mergeLinesTask } from "../../wiki/merge/merge-task.ts";
import type { ReviewApp } from "../review-app.ts";
import type { WholeProposal } from "./proposal.ts";

const linkEnd = z.object({
  path: z.string().nullable().describe("Path of the page; null for a node that is not a page"),
  name: z.string().describe("The target as a node of the graph, such as entry:vision"),
});

/** What a change does to links and to other open proposals. */
export const relations = z.object({
  links_added: z.array(linkEnd.extend({ missing: z.boolean().describe("true if no such page exists") })),
  links_removed: z.array(linkEnd),
  links_in_broken: z
    .array(z.object({ path: z.string(), heading: z.string() }))
    .describe("Pages that link to a heading that the change removes"),
  same_page: z
    .array(
      z.object({
        id: z.string(),
        revision_number: z.int().nullable(),
        proposed_by: z.string().nullable(),
        created_at: z.string(),
        conflict: z.boolean().describe("true if it could not be merged after this one is approved"),
      }),
    )
    .describe("Other open proposals for the page"),
});

type Relations = z.infer<typeof relations>;
type Change = { before: string; after: string };

const mostLinks = 100;
const mostLinking = 50;
const mostOthers = 20;

/** The relations of an open proposal whose approval changes `before`, the page, into `after`. */
export async function relationsOf(app: ReviewApp, proposal: WholeProposal, change: Change): Promise<Relations> {
  const [links, links_in_broken, same_page] = await Promise.all([
    changedLinks(app, proposal.subject, change),
    brokenLinksIn(app, proposal.subject, change),
    otherProposals(app, proposal, change.after),
  ]);
  return { ...links, links_in_broken, same_page };
}

const nodesIn = ({ config: { wiki, sources } }: ReviewApp, path: string, text: string) =>
  new Set(linkTargets(text).flatMap((target) => nodeOfLink(target, posix.dirname(path), { wiki, sources }) ?? []));

async function changedLinks(app: ReviewApp, path: string, { before, after }: Change) {
  const [old, now] = [nodesIn(app, path, before), nodesIn(app, path, after)];
  const end = (name: string) => ({ name, path: pathOf(app, name) });
  const added = [...now].filter((node) => !old.has(node)).slice(0, mostLinks);
  const links_added = await Promise.all(
    added.map(async (name) => {
      const target = pathOf(app, name);
      return { ...end(name), missing: target !== null && !(await app.pages.read(target)).ok };
    }),
  );
  return {
    links_added,
    links_removed: [...old]
      .filter((node) => !now.has(node))
      .slice(0, mostLinks)
      .map(end),
  };
}

function pathOf({ config }: ReviewApp, node: string): string | null {
  if (node.startsWith("entry:")) return `${config.wiki}/${node.slice("entry:".length)}.md`;
  return node.startsWith("page:") ? node.slice("page:".length) : null;
}

/** Entries with a link to a heading that `before` has and `after` does not. */
async function brokenLinksIn(app: ReviewApp, path: string, { before, after }: Change) {
  const kept = new Set(headingsOf(after).map(slugOf));
  const lost = new Map(
    headingsOf(before)
      .filter((heading) => !kept.has(slugOf(heading)))
      .map((heading) => [slugOf(heading), heading]),
  );
  if (lost.size === 0) return [];
  const { wiki, sources } = app.config;
  const isEntry = path.startsWith(`${wiki}/`) && path.endsWith(".md");
  const node = isEntry ? `entry:${path.slice(wiki.length + 1, -".md".length)}` : `page:${path}`;
  const broken: Relations["links_in_broken"] = [];
  for (const { id } of await entriesThatLink(app.db, node, "", mostLinking)) {
    const from = `${wiki}/${id}.md`;
    const page = from === path ? undefined : await app.pages.read(from);
    if (!page?.ok) continue;
    for (const target of linkTargets(page.value.text)) {
      if (nodeOfLink(target, posix.dirname(from), { wiki, sources }) !== node) continue;
      const heading = lost.get(slugOf(fragmentOf(target)));
      const isKnown = broken.some((one) => one.path === from && one.heading === heading);
      if (heading !== undefined && !isKnown) broken.push({ path: from, heading });
    }
  }
  return broken;
}

const fragmentOf = (target: ReturnType<typeof linkTargets>[number]) => {
  const whole = "wiki" in target ? target.wiki : target.address;
  const at = whole.indexOf("#");
  return at < 0 ? "" : whole.slice(at + 1).replaceAll("%20", " ");
};

const headingsOf = (text: string) =>
  [...text.matchAll(/^#{1,6}[ \t]+(.+?)[ \t#]*$/gm)].map(([, heading = ""]) => heading);

/** Equal for a heading and for the ways in which links name it. */
const slugOf = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .replaceAll(/^-|-$/g, "");

/** The other open proposals for the page. They conflict if they cannot be merged into what this one leaves. */
async function otherProposals(app: ReviewApp, { id, subject }: WholeProposal, after: string) {
  const open = (await app.proposals.list("open")).filter(
    (one) => one.kind === "page" && one.subject === subject && one.id !== id,
  );
  return Promise.all(
    open.slice(0, mostOthers).map(async ({ id: other, revisionNumber, proposedBy, createdAt }) => {
      const whole = await app.proposals.find(other);
      const texts = { base: whole?.baseText ?? "", theirs: after, yours: whole?.text ?? "" };
      const merged = await app.threads.run(mergeLinesTask, texts);
      const about = { revision_number: revisionNumber, proposed_by: proposedBy, created_at: createdAt };
      return { id: other, ...about, conflict: !merged.ok || merged.value === undefined };
    }),
  );
}

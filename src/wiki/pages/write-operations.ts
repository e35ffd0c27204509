import * as z from "zod";
import type { Caller } from "../../kernel/caller.ts";
import { collaborators, operation, people } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Author } from "../entry.ts";
import type { WikiApp } from "../wiki-app.ts";
import { createPage as create } from "./create.ts";
import { freePlace } from "./free-place.ts";
import { movePage as move, planMove, shownPlan } from "./move.ts";
import { fromTemplate, pageTemplates, titleFromPath } from "./templates.ts";

const path = z.string().max(1000).describe("Path of the page, such as docs/deploy.md");

export const checkPagePath = operation({
  name: "check_page_path",
  summary: "Check whether a page can be created at a path, or moved there.",
  effect: "reads",
  reads: ["page", "entry", "section"],
  callers: people,
  group: "pages",
  http: { method: "get", path: "/page-paths" },
  input: z.object({ path, from: z.string().max(1000).optional().describe("The page that would move there") }),
  output: z.object({
    path: z.string(),
    free: z.boolean(),
    problem: z.string().nullable().describe("Why not"),
    reason: z
      .enum(["name", "section", "entry", "exists", "ignored", "folder"])
      .nullable()
      .describe("section: it is in the wiki, where entries need a section; entry: it is an entry already"),
  }),
  async run(app: WikiApp, { path, from }) {
    const place = await freePlace(app, path, from);
    if (place.ok) return ok({ path, free: true, problem: null, reason: null });
    const { message, details } = place.problem;
    return ok({ path, free: false, problem: message, reason: (details?.reason as "name" | undefined) ?? "name" });
  },
});

export const createPage = operation({
  name: "create_page",
  summary: "Create a page that is not an entry, and commit it.",
  effect: "writes",
  touches: ["page"],
  callers: collaborators,
  decision: true,
  group: "pages",
  http: { method: "post", path: "/pages" },
  input: z.object({
    path,
    content: z.string().max(1_000_000).optional().describe("The text of the page; default: that of the template"),
    title: z.string().trim().min(1).max(200).optional().describe("The heading in the template; default: from the path"),
    template: z.enum(pageTemplates).default("blank").describe("What the page begins with, unless content is given"),
  }),
  output: z.object({ path: z.string(), source_sha: z.string() }),
  async run(app: WikiApp, { path, content, title, template }, caller) {
    const by = personOf(caller, "create a page");
    if (!by.ok) return by;
    return create(app, { path, content: content ?? fromTemplate(template, title ?? titleFromPath(path)) }, by.value);
  },
});

const relinked = z.object({
  path: z.string(),
  entry: z.string().nullable().describe("Id of the entry that the page is"),
  lines: z
    .array(z.object({ line: z.int(), before: z.string(), after: z.string() }))
    .describe("Lines whose links change"),
});

export const movePage = operation({
  name: "move_page",
  summary: "Move or rename a page: links to it are rewritten; topics, proposals, perspectives and edges follow.",
  effect: "writes",
  touches: ["page", "entry", "topic", "proposal", "perspective", "node"],
  callers: collaborators,
  decision: (_app: WikiApp, { confirm }) => confirm,
  group: "pages",
  http: { method: "post", path: "/page-moves" },
  input: z.object({
    path,
    new_path: z.string().max(1000).describe("Its new path"),
    source_sha: z.string().max(64).optional().describe("source_sha in the preview that you saw; another is a conflict"),
    confirm: z.boolean().default(false).describe("Without it, only a preview"),
  }),
  output: z.object({
    path: z.string(),
    new_path: z.string(),
    moved: z.boolean(),
    source_sha: z.string().describe("Git blob of the page before the move"),
    relinked: z.array(relinked).describe("Pages whose links change; the moved page itself under its new path"),
    left: z
      .array(z.object({ path: z.string(), reason: z.string() }))
      .describe("Pages that still link to the old path"),
    topics: z.int().describe("Number of topics that follow"),
    proposals: z.int().describe("Number of open proposals that follow"),
    perspectives: z.int(),
    edges: z.int().describe("Number of edges of the graph that follow"),
    commit: z.string().nullable().describe("Id of the git commit; null in a preview, or while git cannot be written"),
  }),
  async run(app: WikiApp, { path, new_path, source_sha, confirm }, caller) {
    const by = personOf(caller, "move a page");
    if (!by.ok) return by;
    const plan = await planMove(app, { from: path, to: new_path });
    if (!plan.ok) return plan;
    const { page, follow } = plan.value;
    if (source_sha !== undefined && source_sha !== page.blob)
      return refuse("conflict", `${path} changed since the preview; look at it again`, { source_sha: page.blob });
    const shown = { path, new_path, source_sha: page.blob, relinked: shownPlan(plan.value), ...follow };
    if (!confirm) return ok({ ...shown, moved: false, left: plan.value.left, commit: null });
    const done = await move(app, plan.value, by.value);
    if (!done.ok) return done;
    const paths = new Set(done.value.relinked.map((one) => one.path));
    const changed = shown.relinked.filter((one) => paths.has(one.path));
    const commit = (await app.git.lastCommit("--", new_path)) ?? null;
    return ok({ ...shown, relinked: changed, moved: true, left: done.value.left, commit });
  },
});

function personOf(caller: Caller, what: string): Result<Author> {
  if (caller.kind !== "person") return refuse("denied", `only a person can ${what}`);
  return ok({ name: caller.name, ...(caller.email ? { email: caller.email } : {}) });
}

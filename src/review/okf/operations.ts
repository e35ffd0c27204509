import { posix } from "node:path";
import * as z from "zod";
import { type Caller, nameOf } from "../../kernel/caller.ts";
import { collaborators, operation, people } from "../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { appendEvent } from "../../store/events.ts";
import { findSource } from "../../store/queries/sources.ts";
import { insertDecision } from "../../store/queries/trust.ts";
import type { ShownPassage } from "../../trust/shown.ts";
import { createPage } from "../../wiki/pages/create.ts";
import { freePlace } from "../../wiki/pages/free-place.ts";
import { checkedPath, type Page } from "../../wiki/pages/pages.ts";
import { titleOf } from "../../wiki/pages/title.ts";
import { findSection } from "../../wiki/schema.ts";
import { proposePage } from "../proposals/propose.ts";
import type { ReviewApp } from "../review-app.ts";
import { speaker } from "../topics/operations.ts";
import {
  agentActor,
  checkActor,
  exportedFields,
  human,
  importedField,
  importedFields,
  isReserved,
  isText,
  type Known,
  okfVersion,
  parseConcept,
  writeConcept,
} from "./document.ts";

const file = z.object({ path: z.string().max(1000), content: z.string().max(4 * 1024 * 1024) });
const skipped = z.object({ path: z.string(), why: z.string() });
const mostFiles = 20_000;

export const exportOkf = operation({
  name: "export_okf",
  summary: "Export pages in the Open Knowledge Format, with provenance and trust from the record.",
  guidance: "Answers some pages at a time: continue with `cursor`. The last answer has the index.md of the bundle.",
  effect: "reads",
  reads: ["entry", "page", "trust", "source"],
  callers: people,
  group: "pages",
  http: { method: "get", path: "/okf" },
  input: z.object({
    under: z.string().max(1000).optional().describe("Only this page, or the pages of this folder"),
    limit: z.int().min(1).max(500).default(100).describe("Maximum number of pages"),
    cursor: z.string().max(1000).optional().describe("Cursor of the previous answer, for the next pages"),
  }),
  output: z.object({
    files: z.array(file),
    skipped: z.array(skipped),
    cursor: z.string().optional(),
  }),
  async run(app: ReviewApp, { under, limit, cursor }) {
    const all = (await app.pages.list()).filter(
      (path) => path.endsWith(".md") && (under === undefined || path === under || path.startsWith(`${under}/`)),
    );
    const rest = cursor === undefined ? all : all.filter((path) => path > cursor);
    const files: z.output<typeof file>[] = [];
    const left: z.output<typeof skipped>[] = [];
    for (const path of rest.slice(0, limit)) {
      const page = await app.pages.read(path);
      const made = page.ok ? await conceptOf(app, page.value) : page;
      if (made.ok) files.push({ path: placeInBundle(path), content: made.value });
      else left.push({ path, why: made.problem.message });
    }
    const last = rest[limit - 1];
    if (rest.length > limit && last !== undefined) return ok({ files, skipped: left, cursor: last });
    files.push({ path: "index.md", content: indexOf(all.map(placeInBundle)) });
    return ok({ files, skipped: left });
  },
});

/** A page whose name a bundle reserves gets another one there; `scriptorium.path` has its own. */
const placeInBundle = (path: string) => (isReserved(path) ? path.replace(/(index|log)\.md$/, "$1-page.md") : path);

function indexOf(paths: string[]): string {
  const folders = new Map<string, string[]>();
  for (const path of paths) folders.set(posix.dirname(path), [...(folders.get(posix.dirname(path)) ?? []), path]);
  const parts = [...folders].map(([folder, own]) => {
    const lines = own.map((path) => `* [${posix.basename(path, ".md")}](${encodeURI(path)})`);
    return `# ${folder === "." ? "Pages" : folder}\n\n${lines.join("\n")}\n`;
  });
  return `---\nokf_version: "${okfVersion}"\n---\n\n${parts.join("\n")}`;
}

async function conceptOf(app: ReviewApp, page: Page): Promise<Result<string>> {
  const parsed = parseConcept(page.text, page.path);
  if (!parsed.ok) return parsed;
  const found = await app.trust.page(page.path);
  if (!found.ok) return found;
  const { counts, passages } = found.value;
  const schema = await app.schema();
  const section = page.entry && schema.ok ? findSection(schema.value, page.entry.id) : undefined;
  const isVerified = passages.length > 0 && passages.every(({ state }) => state.startsWith("verified_"));
  const isGone = passages.length > 0 && passages.every(({ state }) => state === "withdrawn");
  const newest = passages.reduce<ShownPassage | undefined>(
    (a, b) => (a && a.writer.at >= b.writer.at ? a : b),
    undefined,
  );
  const until = passages.flatMap(({ stale_after }) => stale_after ?? []).sort()[0];
  const known: Known = {
    type: page.entry ? (page.entry.mode === "log" ? "Log" : "Entry") : "Page",
    title: section?.title ?? titleOf(page.text, page.path),
    description: section?.summary ?? section?.description,
    generated: newest && { by: writerOf(newest), at: newest.writer.at },
    verified: isVerified ? verificationsOf(passages) : [],
    status: isGone ? "deprecated" : isVerified ? "stable" : "draft",
    staleAfter: until?.slice(0, 10),
    sources: await sourcesOf(app, passages),
    own: {
      ...(isReserved(page.path) ? { path: page.path } : {}),
      ...(page.entry ? { entry: page.entry.id, version: page.entry.metadata.version } : {}),
      passages: counts,
    },
  };
  return ok(writeConcept({ fields: exportedFields(parsed.value.fields, known), body: parsed.value.body }));
}

const writerOf = ({ writer: { by, role } }: ShownPassage) => (role === null ? human(by) : agentActor(role));

/** The last verification by each person or check. */
function verificationsOf(passages: readonly ShownPassage[]): Known["verified"] {
  const last = new Map<string, string>();
  for (const { state, verified_by, verified_at } of passages) {
    if (verified_by === null || verified_at === null) continue;
    const by = state === "verified_by_person" ? human(verified_by) : checkActor(verified_by);
    if ((last.get(by) ?? "") < verified_at) last.set(by, verified_at);
  }
  return [...last].map(([by, at]) => ({ by, at }));
}

async function sourcesOf(app: ReviewApp, passages: readonly ShownPassage[]): Promise<Known["sources"]> {
  const refs = [...new Set(passages.flatMap(({ sources }) => sources.map(({ ref }) => ref)))];
  return Promise.all(
    refs.map(async (ref) => {
      const path = ref.slice(ref.indexOf(":") + 1);
      if (!ref.startsWith("source:")) return { id: idOf(path), resource: `/${path}`, title: path };
      const source = await findSource(app.db.read, path);
      const resource = `/${app.config.sources}/${path}`;
      const facts = source ? { author: human(source.added_by), last_modified: source.at.slice(0, 10) } : {};
      return { id: idOf(path), resource, title: path, ...facts };
    }),
  );
}

const idOf = (path: string) =>
  path
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .replaceAll(/^-|-$/g, "")
    .toLowerCase();

export const importOkf = operation({
  name: "import_okf",
  summary: "Import a bundle in the Open Knowledge Format: new pages are created, changes to pages become proposals.",
  guidance:
    "What the bundle says about provenance and trust is kept as claims under `imported` in the frontmatter, and makes nothing verified. With `verify`, you verify every passage of the pages that are created.",
  effect: "writes",
  touches: ["page", "proposal", "topic", "trust"],
  callers: collaborators,
  decision: (_app: ReviewApp, { confirm }) => confirm,
  group: "pages",
  http: { method: "post", path: "/okf" },
  input: z.object({
    files: z.array(file).max(mostFiles).describe("The markdown files of the bundle, by their path in it"),
    from: z.string().trim().min(1).max(200).describe("Name of the bundle, which is kept with the claims"),
    into: z.string().max(500).default("").describe("Folder of the workspace; default: the paths of the bundle"),
    verify: z.boolean().default(false).describe("Verify what is created: you vouch for it"),
    confirm: z.boolean().default(false).describe("Without it, only a preview"),
  }),
  output: z.object({
    imported: z.boolean(),
    okf_version: z.string().nullable().describe("As the bundle says"),
    created: z.array(z.string()).describe("New pages"),
    proposed: z.array(z.object({ path: z.string(), proposal_id: z.string().nullable() })),
    unchanged: z.array(z.string()),
    verified: z.int().describe("Number of passages"),
    skipped: z.array(skipped),
  }),
  async run(app: ReviewApp, { files, from, into, verify, confirm }, caller) {
    if (caller.kind !== "person") return refuse("denied", "only a person imports pages");
    const folder = into.replace(/(?<!\/)\/{1,100}$/, "");
    const done = { created: [] as string[], proposed: [] as { path: string; proposal_id: string | null }[] };
    const left: z.output<typeof skipped>[] = [];
    const unchanged: string[] = [];
    let version: string | null = null;
    let verified = 0;
    const made = { by: human(caller.name), at: app.now().toISOString(), from };
    const seen = new Set<string>();
    for (const { path, content } of files) {
      const skip = (why: string) => void left.push({ path, why });
      const name = checkedPath(path, inBundle);
      if (!name.ok) skip(name.problem.message);
      else if (seen.has(path)) skip("it is in the bundle twice");
      else {
        seen.add(path);
        const parsed = parseConcept(content, path);
        if (path === "index.md" && parsed.ok && isText(parsed.value.fields.okf_version))
          version = parsed.value.fields.okf_version;
        if (isReserved(path)) continue;
        if (!parsed.ok) {
          skip(parsed.problem.message);
          continue;
        }
        const { fields, body } = parsed.value;
        const own = (fields.scriptorium as { path?: unknown } | undefined)?.path;
        const at = isText(own) && placeInBundle(own) === path ? own : path;
        const target = folder === "" ? at : `${folder}/${at}`;
        const text = (previous?: string) => {
          // A repeated import changes nothing, so the time of the first one stays.
          const wanted = importedFields(fields, made);
          const before = previous === undefined ? undefined : parseConcept(previous, target);
          const known = before?.ok ? (before.value.fields[importedField] as { at?: unknown; by?: unknown }) : undefined;
          if (known && isText(known.at) && isText(known.by)) {
            const again = writeConcept({
              fields: importedFields(fields, { ...made, by: known.by, at: known.at }),
              body,
            });
            if (again === previous) return again;
          }
          return writeConcept({ fields: wanted, body });
        };
        const page = await app.pages.read(target);
        if (page.ok) {
          if (page.value.text === text(page.value.text) || isOwn(page.value, body)) unchanged.push(target);
          else {
            const proposal = confirm
              ? await propose(app, page.value, text(page.value.text), { from, caller })
              : ok(null);
            if (proposal.ok) done.proposed.push({ path: target, proposal_id: proposal.value });
            else skip(proposal.problem.message);
          }
          continue;
        }
        const place = page.problem.code === "not_found" ? await freePlace(app, target) : page;
        const created = !place.ok ? place : confirm ? await create(app, target, text(), caller) : ok(true);
        if (!created.ok) skip(created.problem.message);
        else {
          done.created.push(target);
          if (verify && confirm) verified += await vouch(app, target, fields, { from, caller });
        }
      }
    }
    if (confirm && done.created.length + done.proposed.length > 0) {
      const counts = { created: done.created.length, proposed: done.proposed.length, verified };
      const event = {
        at: made.at,
        actor: nameOf(caller),
        kind: "page-imported",
        subject: `page:${folder || "."}`,
      } as const;
      await app.db.write((tx) => appendEvent(tx, { ...event, data: { from, ...counts } }));
    }
    return ok({ imported: confirm, okf_version: version, ...done, unchanged, verified, skipped: left });
  },
});

const inBundle = {
  name: "concept",
  pattern: /[^/]\.md$/,
  wanted: "concepts are .md files",
  example: "tables/orders.md",
};

/** A page of this workspace that comes back as it was exported. */
const isOwn = (page: Page, body: string) => {
  const parsed = parseConcept(page.text, page.path);
  return parsed.ok && parsed.value.fields[importedField] === undefined && parsed.value.body === body;
};

type Act = { from: string; caller: Extract<Caller, { kind: "person" }> };

const create = (app: ReviewApp, path: string, content: string, { name, email }: Act["caller"]) =>
  createPage(app, { path, content }, { name, ...(email ? { email } : {}) });

async function propose(app: ReviewApp, page: Page, text: string, { from, caller }: Act): Promise<Result<string>> {
  const said = `Imported from ${from} (Open Knowledge Format).`;
  const words = { page, kind: "change", text: said, anchor: undefined, mentions: [] } as const;
  const topic = app.topics.begin(words, speaker(caller));
  const asked = { baseSha: page.blob, text };
  const made = await proposePage(app, topic.topic, asked, caller, { openTopic: topic.save });
  return made.ok ? ok(made.value.id) : made;
}

/** Verifies the passages of a new page in the name of the person who imports it. */
async function vouch(
  app: ReviewApp,
  path: string,
  fields: Record<string, unknown>,
  { from, caller }: Act,
): Promise<number> {
  const page = await app.trust.page(path);
  if (!page.ok) return 0;
  const at = app.now().toISOString();
  const claimed = isText(fields.stale_after) ? fields.stale_after.slice(0, 10) : null;
  const until = claimed !== null && /^\d{4}-\d\d-\d\d$/.test(claimed) && claimed > at.slice(0, 10) ? claimed : null;
  const { subject, passages } = page.value;
  const note = `imported from ${from}`;
  await app.db.write(async (tx) => {
    for (const { passage: hash, text } of passages) {
      const decision = {
        subject,
        hash,
        kind: "verify",
        by_name: caller.name,
        note,
        at,
        stale_after: until,
        topic_id: null,
      } as const;
      await insertDecision(tx, { id: app.newId("pd"), ...decision });
      const data = { passage: hash, text: text.slice(0, 200), note, stale_after: until };
      await appendEvent(tx, { at, actor: caller.name, kind: "passage-verified", subject, data });
    }
  });
  return passages.length;
}

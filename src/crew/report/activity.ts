import * as z from "zod";
import { type Caller, kindOf } from "../../kernel/caller.ts";
import { isAboutAccess, isPrivate, nouns } from "../../kernel/noun.ts";
import { operation, people } from "../../kernel/operation.ts";
import { ok } from "../../kernel/result.ts";
import { lastEventId } from "../../store/events.ts";
import { noSuch } from "../../store/no-such.ts";
import { type ActivityEvent, activityBefore, subjectsOfPage, subjectsOfRun } from "../../store/queries/activity.ts";
import { titlesOf } from "../../store/queries/titles.ts";
import { rolesOf } from "../../wiki/schema.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { type Actor, activityKinds, activityThings, actorOf, wordsOf } from "./activity-words.ts";

/** So many events are searched for one answer; `next` continues. */
const searched = 20_000;

export const activity = operation({
  name: "activity",
  summary: "List who did what, newest first, from the event log; by person or agent, kind of thing, page or run.",
  effect: "reads",
  reads: nouns,
  callers: people,
  group: "review",
  http: { method: "get", path: "/activity" },
  input: z.object({
    about: z.enum(activityThings).optional().describe("Kind of thing"),
    who: z.enum(["people", "agents"]).optional().describe("Only what people did, or only what agents did"),
    by: z.string().max(200).optional().describe("Name of the person, or role of the agent"),
    source_path: z.string().max(1024).optional().describe("Page: its versions, topics and proposals"),
    run_id: z.string().max(64).optional().describe("Run, with its tasks"),
    before: z.int().min(1).optional().describe("`next` of the answer before this one"),
    limit: z.int().min(1).max(200).default(50).describe("Maximum number of rows"),
  }),
  output: z.object({
    activity: z.array(
      z.object({
        id: z.int().describe("Position of the event in the log"),
        at: z.string(),
        by: z.string(),
        by_kind: z.enum(["person", "agent", "system"]),
        event: z.string().describe("Kind of the event"),
        about: z.enum(activityThings),
        text: z.string().describe("What was done to the thing, such as: opened a proposal for"),
        subject: z.string().describe("The thing, such as topic:t-1"),
        title: z.string().nullable().describe("First words of the topic, path of the page, title of the run or task"),
        source_path: z.string().nullable(),
        run_id: z.string().nullable(),
        note: z.string().nullable().describe("The note or reason that was given with it"),
      }),
    ),
    next: z.int().nullable().describe("Value of `before` for older events; null at the beginning of the log"),
  }),
  async run(app: CrewApp, { about, who, by, source_path, run_id, before, limit }, caller) {
    if (run_id !== undefined && !(await app.runs.find(run_id))) return noSuch(app.db.read, "run", run_id);
    const schema = await app.schema();
    const roles = new Set([...(schema.ok ? rolesOf(schema.value) : []), "agent"]);
    const kinds = visibleKinds(caller, about);
    const subjects = await subjectsAbout(app, { source_path, run_id });
    const start = before ?? Number((await lastEventId(app.db)) ?? "0") + 1;
    const { shown, next } = await searchBack(app, { kinds, actor: by, subjects, start, limit }, (row) => {
      const words = wordsOf(row.kind, row.data);
      const actor = words && actorOfRow(row, words, roles);
      return actor !== undefined && (who === undefined || actor.kind === (who === "people" ? "person" : "agent"));
    });
    const titles = await titlesOf(app.db.read, [...new Set(shown.map(({ subject }) => subject))]);
    return ok({
      activity: shown.flatMap((event) => {
        const words = wordsOf(event.kind, event.data);
        if (!words) return [];
        const { position: id, at, kind, subject } = event;
        const actor = actorOfRow(event, words, roles);
        const about = titles.get(subject);
        return {
          ...{
            id,
            at,
            by: actor.name,
            by_kind: actor.kind,
            event: kind,
            about: words.about,
            text: words.says,
            subject,
          },
          title: about?.title ?? titleIn(subject),
          source_path: about?.path ?? pathIn(app, event),
          run_id: about?.run ?? null,
          note: noteIn(event.data),
        };
      }),
      next,
    });
  },
});

type Search = {
  kinds: string[];
  actor: string | undefined;
  subjects: string[] | undefined;
  start: number;
  limit: number;
};

/** Which rows are wanted is known only after reading them, so one query may not fill the answer. */
async function searchBack(
  { db }: CrewApp,
  { start, limit, ...filter }: Search,
  isWanted: (event: ActivityEvent) => boolean,
): Promise<{ shown: ActivityEvent[]; next: number | null }> {
  const lowest = filter.subjects === undefined ? Math.max(1, start - searched) : 1;
  const batch = limit * 2 + 1;
  const found: ActivityEvent[] = [];
  let before = start;
  while (found.length <= limit && before > lowest) {
    const rows = await activityBefore(db.read, db.engine, { ...filter, before, span: before - lowest, limit: batch });
    found.push(...rows.filter(isWanted));
    before = rows.length < batch ? lowest : (rows.at(-1)?.position ?? lowest);
  }
  const shown = found.slice(0, limit);
  if (found.length > limit) return { shown, next: shown.at(-1)?.position ?? null };
  return { shown, next: before > 1 ? before : null };
}

const actorOfRow = (row: ActivityEvent, { isByCrew }: { isByCrew: boolean }, roles: ReadonlySet<string>): Actor =>
  actorOf(isByCrew ? "crew" : row.actor, roles);

/** Only admins see events about access (S10). */
function visibleKinds(caller: Caller, about: (typeof activityThings)[number] | undefined): string[] {
  const isAdmin = kindOf(caller) === "admin";
  return activityKinds(about === undefined ? activityThings : [about]).filter(
    (kind) => !isPrivate(kind) && (isAdmin || !isAboutAccess(kind)),
  );
}

type About = { source_path: string | undefined; run_id: string | undefined };

async function subjectsAbout(app: CrewApp, { source_path: path, run_id: run }: About): Promise<string[] | undefined> {
  const ofPage = path && (await subjectsOfPage(app.db.read, path, entryAt(app.config.wiki, path)));
  const ofRun = run && (await subjectsOfRun(app.db.read, run));
  if (!ofPage || !ofRun) return ofPage || ofRun || undefined;
  return ofRun.filter((subject) => ofPage.includes(subject));
}

function entryAt(wiki: string, path: string): string | undefined {
  return path.startsWith(`${wiki}/`) && path.endsWith(".md") ? path.slice(wiki.length + 1, -3) : undefined;
}

const nameIn = (subject: string) => subject.slice(subject.indexOf(":") + 1);

/** Pages, entries, sources and people are named by their subject; a token, session or job has no name to show. */
const titleIn = (subject: string): string | null =>
  /^(entry|page|source|user):/.test(subject) ? nameIn(subject) : null;

function pathIn(app: CrewApp, { subject, data }: ActivityEvent): string | null {
  if (subject.startsWith("entry:")) return `${app.config.wiki}/${nameIn(subject)}.md`;
  if (subject.startsWith("page:")) return nameIn(subject);
  return typeof data.source_path === "string" ? data.source_path : null;
}

const longestNote = 280;

function noteIn(data: Record<string, unknown>): string | null {
  const note = [data.note, data.reason, data.message].find((text) => typeof text === "string" && text.trim() !== "");
  if (typeof note !== "string") return null;
  const line = note.replace(/\s+/g, " ").trim();
  return line.length > longestNote ? `${line.slice(0, longestNote - 1)}…` : line;
}

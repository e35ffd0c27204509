import { randomBytes } from "node:crypto";
import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "./config/config.ts";
import type { RunHost } from "./crew/host.ts";
import { type CrewRecord, crewRecord } from "./crew/record/attempts.ts";
import { type RunStore, runStore } from "./crew/record/runs.ts";
import { outputKind, verdictKind } from "./crew/record/searchable.ts";
import { type ContextStore, contextStore } from "./crew/record/sent-contexts.ts";
import { nodeKind } from "./graph/searchable.ts";
import { type JobStore, jobStore } from "./jobs/jobs.ts";
import type { Caller } from "./kernel/caller.ts";
import { Refused, type Result, unwrap } from "./kernel/result.ts";
import { type TokenStore, tokenStore } from "./people/tokens.ts";
import { type UserStore, userStore } from "./people/users.ts";
import { type PerspectiveStore, perspectiveStore } from "./review/perspectives/perspectives.ts";
import { pageApproval } from "./review/proposals/approval.ts";
import { type ProposalStore, proposalStore } from "./review/proposals/proposals.ts";
import { sectionEffect } from "./review/proposals/section.ts";
import { topicKind } from "./review/searchable.ts";
import { type TopicStore, topicStore } from "./review/topics/topics.ts";
import { openSearch, type Search } from "./search/open.ts";
import { type Database, openDatabase } from "./store/database.ts";
import { type Git, gitAt } from "./store/git/git.ts";
import { openRecorder, type Recorder } from "./store/git/recorder.ts";
import { type TaskEngine, taskEngine } from "./tasks/engine.ts";
import { taskKind } from "./tasks/searchable.ts";
import type { EntryStore } from "./wiki/entry.ts";
import { type KnowledgeStore, knowledge } from "./wiki/knowledge.ts";
import { type PageReader, pageReader } from "./wiki/pages/pages.ts";
import { type LinkKeeper, linkKeeper } from "./wiki/pages/relink.ts";
import type { Schema } from "./wiki/schema.ts";
import { schemaReader } from "./wiki/schema-file.ts";
import { entryKind, sourceKind } from "./wiki/searchable.ts";
import { type SourceStore, sourceStore } from "./wiki/sources/sources.ts";
import { type FileStore, fileStore } from "./wiki/stores/files.ts";
import { type Mirror, openMirror } from "./wiki/stores/mirror.ts";
import { rebuildIndex } from "./wiki/stores/rebuild.ts";
import { rowStore } from "./wiki/stores/rows.ts";

export interface Log {
  info(fields: Record<string, unknown>, event: string): void;
  warn(fields: Record<string, unknown>, event: string): void;
  error(fields: Record<string, unknown>, event: string): void;
}

/** What operations are handed: a few stores, the clock, ids and the log. Built once, by hand in tests. */
export interface App {
  config: Config;
  db: Database;
  git: Git;
  schema(): Promise<Result<Schema>>;
  entries: EntryStore;
  /** The file store when that is where entries are kept. */
  files: FileStore | undefined;
  /** The knowledge base as this caller may use it. */
  knowledge(caller: Caller): KnowledgeStore;
  /** Every markdown file that people read, entries among them. */
  pages: PageReader;
  search: Search;
  links: LinkKeeper;
  sources: SourceStore;
  proposals: ProposalStore;
  topics: TopicStore;
  perspectives: PerspectiveStore;
  tokens: TokenStore;
  users: UserStore;
  tasks: TaskEngine;
  runs: RunStore;
  /** The phases of attempts, as the system records them. */
  attempts: CrewRecord;
  /** What agents of the crew were sent and what they called. */
  contexts: ContextStore;
  jobs: JobStore;
  /** Set while the workspace is served: who carries out runs in the background. */
  host: RunHost | undefined;
  recorder: Recorder;
  /** Of the database store. */
  mirror: Mirror | undefined;
  rebuild(): Promise<number>;
  now(): Date;
  newId(prefix: string): string;
  log: Log;
  close(): Promise<void>;
}

const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

export async function openApp(config: Config, log: Log = silent): Promise<App> {
  const { root, wiki, stateFolder } = config;
  const now = () => new Date();
  refuseLink(stateFolder);
  const git = gitAt(root, config.environment);
  const db = await openDatabase(config.database);
  const schema = schemaReader(join(root, wiki, "schema.yaml"), join(wiki, "schema.yaml"), db);
  const sections = async () => unwrap(await schema()).sections;

  const files =
    config.store === "files" ? fileStore({ db, git, root, wiki, sources: config.sources, sections, now }) : undefined;
  const entries = files ?? rowStore({ db, sections, wiki, sources: config.sources, now });
  const recorder = openRecorder(db, git, join(stateFolder, "recorder.lock"));
  const mirror = files ? undefined : openMirror({ db, git, entries, wiki, lockFile: join(stateFolder, "mirror.lock") });
  const rebuild = () => rebuildIndex({ db, git, wiki, sources: config.sources, now });
  if (files && !(await db.read.selectFrom("entries").select("id").limit(1).executeTakeFirst())) await rebuild();

  const crew = { db, root, claims: config.claims, now, newId };
  const onDisk = files !== undefined;
  const pages = pageReader({ root, wiki, git, schema, entries, onDisk });
  const approval = pageApproval({ db, git, root, pages, entries, onDisk, recorder, agent: config.agent?.author });
  const effects = { section: sectionEffect({ root, wiki, entries, now }), page: approval };
  const proposals = proposalStore({ db, effects, now, newId });
  await approval.recover(proposals);

  const search = openSearch({
    db,
    kinds: [
      entryKind(db, entries, sections),
      sourceKind(db, join(root, config.sources)),
      taskKind(db),
      nodeKind(db),
      topicKind(db),
      outputKind(db),
      verdictKind(db),
    ],
    modelFolder: config.modelFolder,
    embeddings: config.embeddings,
    sections: async () => ((await schema()).ok ? (await sections()).map(({ id }) => id) : []),
  });
  const links = linkKeeper({
    db,
    entries,
    schema,
    folders: { wiki, sources: config.sources },
    refresh: async () => files?.refresh(),
  });
  return {
    config,
    db,
    git,
    schema,
    entries,
    files,
    knowledge: (caller) => knowledge({ db, entries, schema, now, newId }, caller),
    pages,
    search,
    links,
    sources: sourceStore({ db, root, folder: config.sources, now }),
    proposals,
    topics: topicStore({ db, nodeOf: links.nodeOf, now, newId }),
    perspectives: perspectiveStore({ db, now }),
    tokens: tokenStore(db, now, newId),
    jobs: jobStore({ db, now, newId }),
    users: userStore(db, now),
    tasks: taskEngine({ db, ...config.claims, now, newId }),
    runs: runStore(crew),
    attempts: crewRecord(crew),
    contexts: contextStore(crew),
    host: undefined,
    recorder,
    mirror,
    rebuild,
    now,
    newId,
    log,
    async close() {
      await recorder.drain(2000);
      await search.close();
      await db.close();
    },
  };
}

/** A link planted in a shared folder would take the database, and the token in it, elsewhere (T11). */
function refuseLink(stateFolder: string): void {
  if (!lstatSync(stateFolder, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  throw new Refused({
    code: "denied",
    message: `${stateFolder} is a link; remove it, and a folder is made in its place`,
  });
}

const letters = "0123456789abcdefghjkmnpqrstvwxyz";

/** Short, sortable by time, and apart even when made in two clones at once. */
function newId(prefix: string): string {
  let time = Date.now();
  let stamp = "";
  for (let i = 0; i < 9; i++) {
    stamp = letters[time % 32] + stamp;
    time = Math.floor(time / 32);
  }
  const chance = [...randomBytes(8)].map((byte) => letters[byte % 32]).join("");
  return `${prefix}-${stamp}${chance}`;
}

import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "./config/config.ts";
import { type HostOptions, openRunHost } from "./crew/open-run-host.ts";
import { attemptRecord } from "./crew/record/attempts.ts";
import type { CrewApp } from "./crew/record/crew-app.ts";
import { runStore } from "./crew/record/runs.ts";
import { outputKind, verdictKind } from "./crew/record/searchable.ts";
import { contextStore } from "./crew/record/sent-contexts.ts";
import { nodeKind } from "./graph/searchable.ts";
import { jobStore } from "./jobs/jobs.ts";
import { newId } from "./kernel/ids.ts";
import { type Log, silent } from "./kernel/log.ts";
import { Refused, unwrap } from "./kernel/result.ts";
import { passkeyStore } from "./people/passkeys.ts";
import type { PeopleApp } from "./people/people-app.ts";
import { sessionStore } from "./people/sessions.ts";
import { codeStore } from "./people/sign-in-codes.ts";
import { tokenStore } from "./people/tokens.ts";
import { userStore } from "./people/users.ts";
import { perspectiveStore } from "./review/perspectives/perspectives.ts";
import { pageEffect } from "./review/proposals/page-effect.ts";
import { proposalStore } from "./review/proposals/proposals.ts";
import { sectionEffect } from "./review/proposals/section-effect.ts";
import { approvalSigner } from "./review/proposals/signature.ts";
import { topicKind } from "./review/searchable.ts";
import { topicStore } from "./review/topics/topics.ts";
import { openSearch } from "./search/open.ts";
import { closeToOthers } from "./store/disk/private.ts";
import { gitAt } from "./store/git/git.ts";
import { openRecorder } from "./store/git/recorder.ts";
import { commitSigner, gitSigner } from "./store/git/signing.ts";
import { openDatabase } from "./store/open.ts";
import { hasEntries } from "./store/queries/entries.ts";
import { taskEngine } from "./tasks/engine.ts";
import { taskKind } from "./tasks/searchable.ts";
import { knowledge } from "./wiki/knowledge.ts";
import { pageKind } from "./wiki/pages/page-kind.ts";
import { pageReader } from "./wiki/pages/pages.ts";
import { linkKeeper } from "./wiki/pages/relink.ts";
import { schemaReader } from "./wiki/read-schema.ts";
import { entryKind, sourceKind } from "./wiki/searchable.ts";
import { sourceStore } from "./wiki/sources/sources.ts";
import { fileStore } from "./wiki/stores/files.ts";
import { openMirror } from "./wiki/stores/mirror.ts";
import { rebuildIndex } from "./wiki/stores/rebuild.ts";
import { rowStore } from "./wiki/stores/rows.ts";

/** The whole application: every folder's stores, the clock, ids and the log. Built once, by hand in tests. */
export interface App extends CrewApp, PeopleApp {
  close(): Promise<void>;
}

/** `host` says how this process plans and executes runs. */
export type AppOptions = { log?: Log; host?: HostOptions };

export async function openApp(config: Config, { log = silent, host }: AppOptions = {}): Promise<App> {
  const { root, wiki, stateFolder } = config;
  const now = () => new Date();
  refuseLink(stateFolder);
  closeToOthers(stateFolder);
  const git = gitAt(root, config.environment);
  const db = await openDatabase(config.database);
  const schema = schemaReader(join(root, wiki, "schema.yaml"), join(wiki, "schema.yaml"), db);
  const sections = async () => unwrap(await schema()).sections;

  const files =
    config.store === "files" ? fileStore({ db, git, root, wiki, sources: config.sources, sections, now }) : undefined;
  const entries = files ?? rowStore({ db, sections, wiki, sources: config.sources, now });
  const signer = config.approvals === "signed" ? gitSigner(root, config.environment) : undefined;
  const recorder = openRecorder(db, git, join(stateFolder, "recorder.lock"), signer && commitSigner(git, signer));
  const mirror = files ? undefined : openMirror({ db, git, entries, wiki, lockFile: join(stateFolder, "mirror.lock") });
  const rebuild = () => rebuildIndex({ db, git, wiki, sources: config.sources, now });
  if (files && !(await hasEntries(db.read))) await rebuild();

  const crew = { db, root, claims: config.claims, now, newId };
  const onDisk = files !== undefined;
  const pages = pageReader({ root, wiki, git, schema, entries, onDisk });
  const effects = {
    section: sectionEffect({ root, wiki, entries, now }),
    page: pageEffect({ db, git, root, pages, entries, onDisk, recorder, agent: config.agent?.author }),
  };
  const proposals = proposalStore({ db, effects, now, newId, sign: signer && approvalSigner(git, signer) });
  await proposals.resumeApprovals();

  const search = openSearch({
    db,
    kinds: [
      entryKind({ db, entries, sections, ...(files ? { refresh: files.refresh } : {}) }),
      pageKind({ db, root, sources: config.sources, pages }),
      sourceKind(db, join(root, config.sources)),
      taskKind(db),
      nodeKind(db),
      topicKind(db),
      outputKind(db),
      verdictKind(db),
    ],
    modelFolder: config.modelFolder,
    embeddings: config.embeddings,
    folders: { wiki, sources: config.sources },
    sections: async () => ((await schema()).ok ? (await sections()).map(({ id }) => id) : []),
  });
  const links = linkKeeper({
    db,
    entries,
    schema,
    folders: { wiki, sources: config.sources },
    refresh: async () => files?.refresh(),
  });
  const app: App = {
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
    sessions: sessionStore(db, now, newId),
    codes: codeStore(db, now),
    passkeys: passkeyStore(db, now, newId),
    jobs: jobStore({ db, now, newId }),
    users: userStore(db, now),
    tasks: taskEngine({ db, ...config.claims, now, newId }),
    runs: runStore(crew),
    attempts: attemptRecord(crew),
    contexts: contextStore(crew),
    host: openRunHost(
      () => app,
      () => import("./crew-tools.ts"),
      host,
    ),
    recorder,
    mirror,
    rebuild,
    now,
    newId,
    log,
    async close() {
      await app.host.stop();
      await recorder.drain(2000);
      await search.close();
      await db.close();
    },
  };
  return app;
}

/** A link planted in a shared folder would take the database, and the token in it, elsewhere (T11). */
function refuseLink(stateFolder: string): void {
  if (!lstatSync(stateFolder, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  throw new Refused({
    code: "denied",
    message: `${stateFolder} is a symbolic link; delete it, and a folder is created in its place`,
  });
}

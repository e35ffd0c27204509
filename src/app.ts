import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "./config/config.ts";
import { liveConfig } from "./config/live.ts";
import { openGit } from "./config/open-git.ts";
import { type HostOptions, openRunHost } from "./crew/open-run-host.ts";
import { attemptRecord } from "./crew/record/attempts.ts";
import type { CrewApp } from "./crew/record/crew-app.ts";
import { openRunPacks } from "./crew/record/run-packs.ts";
import { runStore } from "./crew/record/runs.ts";
import { outputKind, verdictKind } from "./crew/record/searchable.ts";
import { contextStore } from "./crew/record/sent-contexts.ts";
import { nodeKind } from "./graph/searchable.ts";
import { jobStore } from "./jobs/jobs.ts";
import { newId } from "./kernel/ids.ts";
import { type Log, silent } from "./kernel/log.ts";
import { Refused, unwrap } from "./kernel/result.ts";
import { openThreads } from "./kernel/threads/threads.ts";
import { identityStore } from "./people/identities.ts";
import { passkeyStore } from "./people/passkeys.ts";
import type { PeopleApp } from "./people/people-app.ts";
import { sessionStore } from "./people/sessions.ts";
import { challengeStore } from "./people/sign-in-challenges.ts";
import { codeStore } from "./people/sign-in-codes.ts";
import { tokenStore } from "./people/tokens.ts";
import { userStore } from "./people/users.ts";
import { perspectiveStore } from "./review/perspectives/perspectives.ts";
import { pageEffect } from "./review/proposals/page-effect.ts";
import { pendingDecisions } from "./review/proposals/pending-decisions.ts";
import { proposalStore } from "./review/proposals/proposals.ts";
import { sectionEffect } from "./review/proposals/section-effect.ts";
import { approvalSigner } from "./review/proposals/signature.ts";
import { proposalSummaries } from "./review/proposals/summaries.ts";
import { topicKind } from "./review/searchable.ts";
import { topicStore } from "./review/topics/topics.ts";
import { passagesAlike } from "./search/alike.ts";
import { openSearch } from "./search/open.ts";
import { readIfThere } from "./store/disk/disk.ts";
import { closeToOthers } from "./store/disk/private.ts";
import { continueHistory } from "./store/git/history-ref.ts";
import { checkOwner } from "./store/git/ownership.ts";
import { historyTip, openRecorder } from "./store/git/recorder.ts";
import { commitSigner, gitSigner } from "./store/git/signing.ts";
import { openIdempotency } from "./store/idempotency.ts";
import { openDatabase } from "./store/open.ts";
import { publications } from "./store/publications.ts";
import { hasEntries } from "./store/queries/entries.ts";
import { findMeta } from "./store/queries/meta.ts";
import { taskEngine } from "./tasks/engine.ts";
import { taskKind } from "./tasks/searchable.ts";
import { citedSources } from "./trust/cited.ts";
import { openTrust } from "./trust/trust.ts";
import { knowledge } from "./wiki/knowledge.ts";
import { pageKind } from "./wiki/pages/page-kind.ts";
import { pageReader } from "./wiki/pages/pages.ts";
import { linkKeeper } from "./wiki/pages/relink.ts";
import { subjectOf } from "./wiki/pages/subject.ts";
import { schemaKeeper } from "./wiki/schema/keeper.ts";
import { sectionWith } from "./wiki/schema.ts";
import { entryKind, sourceKind, sourceText } from "./wiki/searchable.ts";
import { sourceStore } from "./wiki/sources/sources.ts";
import { checkBook, rememberNewBook } from "./wiki/stores/book.ts";
import { fileStore } from "./wiki/stores/files.ts";
import { checkHome } from "./wiki/stores/home.ts";
import { indexedStore } from "./wiki/stores/indexed.ts";
import { loadStore } from "./wiki/stores/load-store.ts";
import { openMirror } from "./wiki/stores/mirror.ts";
import { rebuildIndex } from "./wiki/stores/rebuild.ts";
import { recountWords } from "./wiki/stores/recount.ts";
import { rowStore } from "./wiki/stores/rows.ts";

/** The whole application: every folder's stores, the clock, ids and the log. Built once, by hand in tests. */
export interface App extends CrewApp, PeopleApp {
  close(): Promise<void>;
}

/** `host` says how this process plans and executes runs; `now` is the clock, for a history in the past. */
export type AppOptions = {
  log?: Log;
  host?: HostOptions;
  now?: () => Date;
  /** Gets a line while the database is waited for. */
  tellProgress?: (line: string) => void;
  /** Opens also a folder that is not the one whose files the database indexes, so that it can become that one. */
  anyHome?: boolean;
};

export async function openApp(
  given: Config,
  { log = silent, host, now = () => new Date(), tellProgress, anyHome = false }: AppOptions = {},
): Promise<App> {
  const config = liveConfig(given, log);
  const { root, wiki, stateFolder } = config;
  refuseLink(stateFolder);
  closeToOthers(stateFolder);
  const threads = openThreads(log);
  const git = openGit(root, config.environment, config.trust.workspace);
  await checkOwner(git);
  unwrap(config.trust.check("database"));
  const db = await openDatabase(config.database, { tellProgress });
  const book = { db, git, config, newId };
  const found = await checkBook(book);
  const checked = found.ok && !anyHome ? await checkHome({ ...book, now }) : found;
  if (!checked.ok) await db.close();
  unwrap(checked);
  const published = publications(db, git, root);
  const idempotency = openIdempotency({ db, now });
  const keeper = schemaKeeper({ db, git, publications: published, root, wiki, now });
  const schema = keeper.read;
  const sections = async () => unwrap(await schema()).sections;

  const files =
    config.store === "files"
      ? fileStore({ db, git, publications: published, root, wiki, sources: config.sources, sections, threads, now })
      : undefined;
  const module = config.storeModule;
  const own = module === undefined ? undefined : await loadStore(module, { root, name: config.name });
  const kept = { db, sections, wiki, sources: config.sources, threads, now };
  const entries = files ?? (own ? indexedStore({ ...kept, store: own, module: module ?? "" }) : rowStore(kept));
  const signer = config.approvals === "signed" ? gitSigner(root, config.environment) : undefined;
  const branch = config.bookBranch ? { setting: config.bookBranch, folders: [wiki, config.sources] } : undefined;
  const recorder = openRecorder({
    db,
    git,
    publications: published,
    lockFile: join(stateFolder, "recorder.lock"),
    sign: signer && commitSigner(git, signer),
    book: branch,
  });
  const mirror = files ? undefined : openMirror({ db, git, entries, wiki, lockFile: join(stateFolder, "mirror.lock") });
  await published.finish();
  const rebuild = () => rebuildIndex({ db, git, root, wiki, sources: config.sources, book: config.bookBranch, now });
  if (await hasEntries(db.read)) await continueHistory(git, () => findMeta(db.read, historyTip));
  else if (files) await rebuild();
  // Brings an edit of schema.yaml into force before anything is read: graph and search know sections from the database.
  const current = await schema();
  if (current.ok) await recountWords(db, entries, current.value.sections);

  const crew = { db, root, claims: config.claims, now, newId };
  const onDisk = files !== undefined;
  const pages = pageReader({ root, wiki, git, schema, entries, onDisk, publications: published });
  const effects = {
    section: sectionEffect({
      engine: db.engine,
      git,
      publications: published,
      place: keeper.place,
      schema,
      entries,
      now,
    }),
    page: pageEffect({
      db,
      git,
      publications: published,
      root,
      pages,
      entries,
      onDisk,
      recorder,
      book: branch,
      threads,
      agent: () => config.agent?.author,
    }),
  };
  const proposals = proposalStore({
    db,
    publications: published,
    effects,
    now,
    newId,
    sign: signer && approvalSigner(git, signer),
  });
  if (own) await proposals.resumeApprovals();

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
    embeddings: config.embeddings && { ...config.embeddings, check: () => config.trust.check("search") },
    folders: { wiki, sources: config.sources },
  });
  const trust = openTrust({
    db,
    now,
    folders: { wiki, sources: config.sources },
    cited: citedSources({
      db,
      sourceText: (source) => sourceText(db, join(root, config.sources), source),
      file: (path) => readIfThere(join(root, path), root),
    }),
    subjectOf: (name) => subjectOf({ schema, pages }, name),
    async entryText(id) {
      if (!sectionWith(await sections(), id)) return undefined;
      const { content, version } = await entries.fetch(id);
      return { content, version };
    },
    entryTextAt: (id, version) => entries.contentAt(id, version),
    async pageText(path) {
      const page = await pages.read(path);
      return page.ok ? page.value.text : undefined;
    },
    blobText: (blob) => git.maybe(["cat-file", "blob", blob]),
    alike: (text) => passagesAlike(search, text),
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
    schemaWarning: keeper.warning,
    schemaPlace: keeper.place,
    entries,
    files,
    knowledge: (caller) => knowledge({ db, entries, schema, now, newId }, caller),
    pages,
    search,
    trust,
    links,
    sources: sourceStore({ db, git, publications: published, root, folder: config.sources, now }),
    proposals,
    pendingDecisions: pendingDecisions({ db, now, log }),
    proposalSummaries: proposalSummaries({ db, pages, threads, proposals }),
    topics: topicStore({ db, nodeOf: links.nodeOf, now, newId }),
    perspectives: perspectiveStore({ db, now }),
    tokens: tokenStore(db, now, newId),
    sessions: sessionStore(db, now, newId),
    codes: codeStore(db, now),
    passkeys: passkeyStore(db, now, newId),
    identities: identityStore(db, now),
    challenges: challengeStore(db, now),
    jobs: jobStore({ db, now, newId }),
    users: userStore(db, now),
    tasks: taskEngine({ db, ...config.claims, now, newId }),
    runs: runStore(crew),
    attempts: attemptRecord(crew),
    contexts: contextStore(crew),
    packs: openRunPacks({ db, git, now, log, config }),
    host: openRunHost(
      () => app,
      () => import("./crew-tools.ts"),
      host,
    ),
    publications: published,
    idempotency,
    recorder,
    mirror,
    rebuild,
    now,
    newId,
    log,
    threads,
    async close() {
      await app.pendingDecisions.close();
      await app.host.stop();
      await idempotency.idle();
      files?.close();
      await threads.close();
      await recorder.drain(2000);
      await search.close();
      await own?.close?.();
      // The next start does it otherwise.
      await rememberNewBook(book).catch((error) => log.warn({ error: String(error) }, "book-not-recorded"));
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

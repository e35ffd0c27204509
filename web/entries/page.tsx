import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useCallback } from "react";
import { boot } from "../boot.ts";
import { mayCall, Refusal } from "../client/call.ts";
import { renderedQuery } from "../client/query.ts";
import { startCreating } from "../creating/creating.ts";
import { BookOpen, Code2, History, MapPin, MessageSquare, Pencil, Users } from "../parts/icons.tsx";
import { later } from "../parts/later.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading, NotHere } from "../parts/state.tsx";
import { countOf, Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import type { PageSearch } from "../routes.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { Crumbs } from "./crumbs.tsx";
import { PersonaChoice, Perspective } from "./perspective.tsx";
import { Reading } from "./reading.tsx";

const Editor = later(() => import("./editor.tsx").then(({ Editor }) => Editor));
const Suggest = later(() => import("./suggest.tsx").then(({ Suggest }) => Suggest));
const HistoryView = later(() => import("./history.tsx").then(({ HistoryView }) => HistoryView));
const Blame = later(() => import("./blame.tsx").then(({ Blame }) => Blame));
const SourceView = later(() => import("./source.tsx").then(({ SourceView }) => SourceView));

export function EntryPage() {
  const { _splat: id = "" } = useParams({ strict: false });
  return <Page key={id} path={`${boot.workspace.wiki}/${id}.md`} />;
}

export function WorkspacePage() {
  const { _splat: path = "" } = useParams({ strict: false });
  return <Page key={path} path={path} />;
}

function Page({ path }: { path: string }) {
  const search = useSearch({ strict: false }) as PageSearch;
  const navigate = useNavigate();
  const page = useQuery(renderedQuery(path, search.version));
  const shown = page.data;
  useTitle(shown?.title);

  const isLog = shown?.entry?.mode === "log";
  const canWrite = shown?.entry != null && mayCall(isLog ? "append_log" : "commit_entry");
  const mayNotEdit = search.view === "edit" && shown !== undefined && !canWrite;
  const maySuggest = mayCall("propose_edit");
  const view = mayNotEdit || (search.view === "suggest" && !maySuggest) ? "read" : (search.view ?? "read");

  // Another topic or tab of the side panel leaves the text where it is; another view begins at its top.
  const show = useCallback(
    (next: PageSearch) =>
      void navigate({ to: ".", search: next as never, resetScroll: view !== "read" || !isReading(next) }),
    [navigate, view],
  );
  const isSource = path.startsWith(`${boot.workspace.sources}/`);
  const canSuggest = shown !== undefined && !isSource && maySuggest;
  const actions: Record<"read" | "edit" | "suggest" | "move" | "history" | "blame" | "source", Action> = {
    suggest: {
      id: "page-suggest",
      label: "Suggest edit",
      group: "Page",
      keys: "v e",
      when: canSuggest && view !== "suggest" && search.version === undefined,
      operation: "propose_edit",
      run: () => show({ view: "suggest", topic: search.topic }),
    },
    move: {
      id: "page-move",
      label: shown?.entry ? "Rename section" : "Rename or move page",
      group: "Page",
      when: shown !== undefined && !isSource && search.version === undefined,
      operation: shown?.entry ? "rename_section" : "move_page",
      run: () => startCreating({ kind: "move", path, entry: shown?.entry?.id, title: shown?.title ?? path }),
    },
    read: { id: "page-read", label: "Read", group: "Page", keys: "v r", when: view !== "read", run: () => show({}) },
    edit: {
      id: "page-edit",
      label: isLog ? "Add line" : "Edit",
      group: "Page",
      keys: "e",
      when: canWrite && view !== "edit" && search.version === undefined,
      operation: isLog ? "append_log" : "commit_entry",
      run: () => show({ view: "edit" }),
    },
    history: {
      id: "page-history",
      label: "History",
      group: "Page",
      keys: "v h",
      when: shown?.entry != null,
      run: () => show({ view: "history" }),
    },
    blame: {
      id: "page-blame",
      label: "Blame",
      group: "Page",
      keys: "v b",
      when: shown?.entry != null,
      run: () => show({ view: "blame" }),
    },
    source: {
      id: "page-source",
      label: "Source text",
      group: "Page",
      keys: "v s",
      when: shown !== undefined,
      run: () => show({ view: "source" }),
    },
  };
  useActions(Object.values(actions));

  if (page.error instanceof Refusal && page.error.status === 404)
    return (
      <NotHere what={missing(path, page.error)}>
        {search.version === undefined && <CreateMissing path={path} />}
      </NotHere>
    );
  if (page.error && !shown) {
    return (
      <div className="column">
        <h1>{path}</h1>
        <Failed error={page.error} again={() => void page.refetch()} />
      </div>
    );
  }
  if (!shown) {
    return (
      <div className="column">
        <Loading lines={12} />
      </div>
    );
  }
  const { entry } = shown;
  return (
    <article className="page" data-view={view}>
      {page.error && <Failed error={page.error} again={() => void page.refetch()} />}
      <header className="page-top">
        <Crumbs path={path} />
        <div className="page-title">
          <h1 className="entry-title" dir="auto">
            <Shown text={shown.title} />
          </h1>
          <div className="page-actions">
            {view === "read" && search.version === undefined && (
              <PersonaChoice page={shown} persona={search.as} onChoose={(as) => show({ as })} />
            )}
            <ViewButton action={actions.read} isCurrent={view === "read"} icon={<BookOpen size={14} />} />
            {(actions.edit.when || view === "edit") && (
              <ViewButton action={actions.edit} isCurrent={view === "edit"} icon={<Pencil size={14} />} />
            )}
            {(actions.suggest.when || view === "suggest") && (
              <ViewButton action={actions.suggest} isCurrent={view === "suggest"} icon={<MessageSquare size={14} />} />
            )}
            {(actions.history.when || view === "history") && (
              <ViewButton action={actions.history} isCurrent={view === "history"} icon={<History size={14} />} />
            )}
            {(actions.blame.when || view === "blame") && (
              <ViewButton action={actions.blame} isCurrent={view === "blame"} icon={<Users size={14} />} />
            )}
            <ViewButton
              action={actions.source}
              isCurrent={view === "source"}
              icon={<Code2 size={14} />}
              label="Source"
            />
            {actions.move.when && (
              <ActionButton
                action={actions.move}
                icon={<MapPin size={14} />}
                variant="default"
                size="xs"
                label="Rename"
              />
            )}
          </div>
        </div>
        <p className="facts">
          {entry?.mode !== "snapshot" && (
            <span className={isLog ? "mode mode-log" : "mode"}>{entry?.mode ?? "page"}</span>
          )}
          {entry && <span>version {entry.version}</span>}
          <span>{countOf(shown.words, "word", "words")}</span>
          {shown.lastAuthor && (
            <span>
              <Shown text={shown.lastAuthor} />
              {shown.updated_at && (
                <>
                  , <Time at={shown.updated_at} />
                </>
              )}
            </span>
          )}
          {shown.tags
            .filter((tag) => tag !== entry?.mode)
            .map((tag) => (
              <span key={tag} className="tag">
                <Shown text={tag} />
              </span>
            ))}
        </p>
        {mayNotEdit && (
          <p className="note" role="status">
            {entry
              ? "Only collaborators and admins can edit this page."
              : "This page is not an entry of the wiki: suggest an edit, or edit its file."}
          </p>
        )}
        {entry && entry.version < entry.latest && (
          <p className="note">
            You are reading version {entry.version}.{" "}
            <button type="button" className="link-button" onClick={() => show({})}>
              Read the latest version, {entry.latest}
            </button>
          </p>
        )}
      </header>
      {view === "read" && search.as !== undefined && (
        <Perspective key={search.as} page={shown} persona={search.as} onChoose={(as) => show({ as })} />
      )}
      {view === "read" && search.as === undefined && <Reading page={shown} search={search} show={show} />}
      {view === "edit" && entry && <Editor page={shown} onDone={() => show({})} />}
      {view === "suggest" && canSuggest && (
        <Suggest page={shown} topic={search.topic} onDone={() => show(search.topic ? { topic: search.topic } : {})} />
      )}
      {view === "history" && entry && (
        <HistoryView
          id={entry.id}
          path={path}
          mode={entry.mode}
          latest={entry.latest}
          compare={search.compare}
          show={show}
        />
      )}
      {view === "blame" && entry && <Blame id={entry.id} />}
      {view === "source" && <SourceView path={path} />}
    </article>
  );
}

type ViewProps = { action: Action; isCurrent: boolean; icon: ReactNode; label?: string };

/** One of the views of the page. The current one is marked, and stays focusable. */
function ViewButton({ action, isCurrent, icon, ...rest }: ViewProps) {
  return (
    <ActionButton
      action={isCurrent ? { ...action, when: true } : action}
      icon={icon}
      variant={isCurrent ? "light" : "default"}
      size="xs"
      aria-current={isCurrent ? "page" : undefined}
      {...rest}
    />
  );
}

/** A link led to a page that does not exist: it can be made here. */
function CreateMissing({ path }: { path: string }) {
  const inWiki = path.startsWith(`${boot.workspace.wiki}/`);
  if (!mayCall(inWiki ? "create_section" : "create_page") || path.startsWith(`${boot.workspace.sources}/`)) return null;
  const id = path.slice(boot.workspace.wiki.length + 1).replace(/\.(md|markdown)$/, "");
  const create = () => startCreating(inWiki ? { kind: "section", id } : { kind: "page", path });
  return (
    <p>
      <Button onClick={create}>{inWiki ? "Propose section" : "Create page"}</Button>
    </p>
  );
}

const isReading = ({ view = "read", version, as }: PageSearch) =>
  view === "read" && version === undefined && as === undefined;

function missing(path: string, error: Refusal): string {
  if (error.message.includes("version")) return `${error.message[0]?.toUpperCase()}${error.message.slice(1)}.`;
  const name = path.startsWith(`${boot.workspace.wiki}/`)
    ? `Entry ${path.slice(boot.workspace.wiki.length + 1, -3)}`
    : `Page ${path}`;
  return `${name} does not exist.`;
}

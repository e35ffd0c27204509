import { Link } from "@tanstack/react-router";
import { boot } from "../boot.ts";
import { mayCall } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { useOperation } from "../client/query.ts";
import { later } from "../parts/later.tsx";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { countOf, Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";

const most = 120;

type Line = {
  id: string;
  title: string;
  version: number;
  lastAuthor: string;
  wordCount: number;
  mode: "snapshot" | "log";
  summary?: string;
  updated_at?: string;
};

const FirstSteps = later(() => import("./first-steps.tsx").then(({ FirstSteps }) => FirstSteps));

/** The catalogue: what was written last, and every entry by folder. */
export function Home() {
  useTitle("Wiki");
  const hidden = useDraft("first steps hidden", false);
  const isHidden = hidden.value;
  const catalogue = useOperation("list_entries", { all: true });
  const entries = catalogue.data?.entries ?? [];
  return (
    <div className="column">
      <div className="page-head">
        <h1>Wiki</h1>
        <p className="lead">
          The shared memory of people and agents.{" "}
          {catalogue.data && `${countOf(entries.length, "entry", "entries")} in ${boot.workspace.name}.`}
          {isHidden && mayCall("first_steps") && (
            <>
              {" "}
              <button type="button" className="link-button" onClick={() => hidden.clear()}>
                Show first steps
              </button>
            </>
          )}
        </p>
      </div>
      {!isHidden && mayCall("first_steps") && catalogue.data && (
        <FirstSteps page={pageToRead(entries)} onHide={() => hidden.setValue(true)} />
      )}
      {catalogue.isPending && <Loading lines={10} />}
      {catalogue.error && <Failed error={catalogue.error} again={() => void catalogue.refetch()} />}
      {catalogue.data && entries.length === 0 && (
        <Empty title="No entries yet">
          <p>
            <Link to="/settings/agents">Set up an agent</Link>, connect your own with <code>scriptorium connect</code>,
            or open a section on the left and press Edit.
          </p>
        </Empty>
      )}
      {entries.length > 12 && <Recent entries={entries} />}
      {entries.length > most ? <Folders entries={entries} /> : <Whole entries={entries} />}
    </div>
  );
}

/** An entry with enough text to ask about; the catalogue itself while there is none. */
function pageToRead(entries: Line[]): string {
  const found = entries.find(({ wordCount, mode }) => mode === "snapshot" && wordCount > 50);
  return found ? `/entries/${found.id}` : "/";
}

function Recent({ entries }: { entries: Line[] }) {
  const written = entries.filter(({ updated_at }) => updated_at);
  const newest = written.sort((a, b) => ((a.updated_at ?? "") < (b.updated_at ?? "") ? 1 : -1)).slice(0, 6);
  return (
    <section className="folder" aria-labelledby="recent">
      <h2 id="recent" className="folder-name">
        Recently changed
      </h2>
      <ul className="cards">
        {newest.map((entry) => (
          <li key={entry.id}>
            <Link to={`/entries/${entry.id}`}>
              <strong>
                <Shown text={entry.title} />
              </strong>
              <span className="facts">
                <Shown text={entry.lastAuthor} />, <Time at={entry.updated_at ?? ""} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Whole({ entries }: { entries: Line[] }) {
  return byFolder(entries).map(([folder, members]) => {
    // Entries without a folder have no heading between them and the title of the page.
    const Title = folder === "" ? "h2" : "h3";
    return (
      <section className="folder" key={folder}>
        {folder !== "" && (
          <h2 className="folder-name">
            <Shown text={folder} />
          </h2>
        )}
        <ul className="entries">
          {members.map((entry) => (
            <li key={entry.id}>
              <Title>
                <Link to={`/entries/${entry.id}`}>
                  <Shown text={entry.title} />
                </Link>
              </Title>
              {entry.summary && (
                <p className="summary">
                  <Shown text={entry.summary} />
                </p>
              )}
              <Facts entry={entry} />
            </li>
          ))}
        </ul>
      </section>
    );
  });
}

/** A large base is shown by its folders; the tree beside it and the palette lead to single entries. */
function Folders({ entries }: { entries: Line[] }) {
  const folders = byFolder(entries.map((entry) => ({ ...entry, id: entry.id.split("/").slice(0, 2).join("/") })));
  return (
    <section className="folder" aria-labelledby="folders">
      <h2 id="folders" className="folder-name">
        Folders
      </h2>
      <ul className="cards">
        {folders.map(([folder, members]) => (
          <li key={folder}>
            <Link to="/search" search={{ q: undefined, in: folder || undefined, type: undefined }}>
              <strong>
                <Shown text={folder || "Top level"} />
              </strong>
              <span className="facts">{countOf(members.length, "entry", "entries")}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Facts({ entry }: { entry: Omit<Line, "id" | "title"> }) {
  return (
    <p className="facts">
      {entry.mode === "log" && <span className="mode mode-log">log</span>}
      <span>version {entry.version}</span>
      <span>{countOf(entry.wordCount, "word", "words")}</span>
      {entry.lastAuthor && (
        <span>
          <Shown text={entry.lastAuthor} />
          {entry.updated_at && (
            <>
              , <Time at={entry.updated_at} />
            </>
          )}
        </span>
      )}
    </p>
  );
}

/** Entries at the top first, then folder by folder, both in alphabetical order. */
function byFolder(entries: Line[]): [string, Line[]][] {
  const folders = new Map<string, Line[]>();
  for (const entry of entries) {
    const folder = entry.id.slice(0, Math.max(0, entry.id.lastIndexOf("/")));
    const members = folders.get(folder);
    if (members) members.push(entry);
    else folders.set(folder, [entry]);
  }
  return [...folders].sort(([a], [b]) => (a < b ? -1 : 1));
}

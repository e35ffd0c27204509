import { TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import type { Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { linkToHit } from "../graph/homes.ts";
import { AgentName } from "../parts/agent-name.tsx";
import { Search as SearchIcon } from "../parts/icons.tsx";
import { Shown, Snippet } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { countOf, Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { isTrusted, isTrustState, type TrustFilter, trustFilters } from "../trust/filter.ts";
import { sentenceCase, TrustLabel } from "../trust/states.tsx";

type Asked = { q?: string; in?: string; type?: string; trust?: TrustFilter };
type Hit = Output<"search">["results"][number];

/** What the types of the index are called here; an index of a later version may have others. */
const typeNames: Record<string, string> = {
  entry: "Entries",
  page: "Pages",
  source: "Sources",
  task: "Tasks",
  node: "Nodes",
  topic: "Topics",
  output: "Outputs",
  verdict: "Verdicts",
};

/** Search over everything: ranked passages, optionally narrowed to a type or a folder. */
export function Search() {
  const { q = "", in: section, type, trust } = useSearch({ strict: false }) as Asked;
  const navigate = useNavigate();
  const [text, setText] = useState(q);
  const [wanted] = useDebouncedValue(text.trim(), 200);
  useTitle(q ? `Search: ${q}` : "Search");
  useEffect(() => {
    if (wanted === q) return;
    void navigate({ to: "/search", search: { q: wanted || undefined, in: section, type, trust }, replace: true });
  }, [wanted, q, section, type, trust, navigate]);

  const catalogue = useOperation("list_entries", { all: true });
  const folders = useMemo(() => {
    const ids = (catalogue.data?.entries ?? []).map(({ id }) => id);
    return [...new Set(ids.filter((id) => id.includes("/")).map((id) => id.slice(0, id.indexOf("/"))))].sort();
  }, [catalogue.data]);
  const found = useOperation(
    "search",
    { query: type ? `${q} type:${type}` : q, limit: 30, ...(section ? { section } : {}) },
    { enabled: q !== "", keep: true },
  );
  const all = found.data?.results ?? [];
  const results = trust ? all.filter((hit) => isTrusted(hit.trust, trust)) : all;
  return (
    <div className="column">
      <div className="page-head">
        <h1>Search</h1>
        <p className="lead">Words in pages, sources, topics, tasks and what agents delivered.</p>
      </div>
      <search className="search-form">
        <TextInput
          type="search"
          size="md"
          aria-label="Search everything"
          placeholder="Search terms"
          leftSection={<SearchIcon size={18} aria-hidden />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          autoFocus
        />
        {q !== "" && found.data && (
          <Chips
            label="Type"
            all="Everything"
            names={found.data.types}
            chosen={type}
            nameOf={(name) => typeNames[name] ?? name}
            search={(name) => ({ q, in: section, type: name, trust })}
          />
        )}
        {folders.length > 0 && (
          <Chips
            label="Folder"
            all="All folders"
            names={folders.slice(0, 40)}
            chosen={section}
            search={(name) => ({ q: q || undefined, in: name, type, trust })}
          />
        )}
        {q !== "" && (trust !== undefined || all.some((hit) => hit.trust !== undefined)) && (
          <Chips
            label="Trust"
            all="Any trust"
            names={Object.keys(trustFilters)}
            chosen={trust}
            nameOf={(name) => trustFilters[name as TrustFilter]}
            search={(name) => ({ q, in: section, type, trust: name as TrustFilter | undefined })}
          />
        )}
      </search>
      {found.error && <Failed error={found.error} again={() => void found.refetch()} />}
      {q !== "" && found.isPending && <Loading />}
      {q !== "" && found.data && (
        <p className="result-count" role="status">
          {all.length === 0
            ? `No results for ${q}`
            : results.length < all.length
              ? `${results.length} of the first ${countOf(all.length, "result", "results")} for ${q}`
              : `${countOf(all.length, "result", "results")} for ${q}`}
        </p>
      )}
      {found.data?.notes.map((note) => (
        <p key={note} className="note">
          {note}
        </p>
      ))}
      {q !== "" && found.data && results.length === 0 && (
        <div className="none-found">
          {found.data.suggestion && (
            <p>
              Did you mean{" "}
              <button type="button" className="link-button" onClick={() => setText(found.data?.suggestion ?? "")}>
                {found.data.suggestion}
              </button>
            </p>
          )}
          {(type || section || trust) && (
            <p>
              <Link to="/search" search={{ q, in: undefined, type: undefined, trust: undefined }}>
                Search everything
              </Link>
            </p>
          )}
          {!found.data.suggestion && !type && !section && !trust && <p>Try fewer or other words.</p>}
        </div>
      )}
      {q !== "" && results.length > 0 && (
        <ol className="entries hits">
          {results.map((hit) => (
            <Found key={`${hit.type} ${hit.id}`} hit={hit} />
          ))}
        </ol>
      )}
      {q === "" && section && <Inside section={section} />}
      {q === "" && !section && (
        <Empty title="Search all text">
          <p>
            Filters: <code>author:ada</code>, <code>type:source</code>, <code>after:2026-11</code>.
          </p>
        </Empty>
      )}
    </div>
  );
}

function Found({ hit }: { hit: Hit }) {
  return (
    <li>
      <h2>
        <Link {...linkToHit(hit)}>
          <Shown text={hit.title || hit.id} />
        </Link>
      </h2>
      <p className="summary">
        <Snippet text={hit.snippet} />
      </p>
      {hit.more.map(({ line, snippet }) => (
        <p key={line} className="summary more">
          <Snippet text={snippet} />
        </p>
      ))}
      {hit.doubts?.map((doubt) => (
        <p key={doubt} className="doubt">
          <Shown text={sentenceCase(doubt)} />
        </p>
      ))}
      <p className="facts">
        {isTrustState(hit.trust) && <TrustLabel state={hit.trust} />}
        <span className="mode">{hit.type}</span>
        <span className="id">
          <Shown text={hit.id} />
        </span>
        {hit.heading && <Shown text={hit.heading} />}
        {hit.author && (
          <span>
            <AgentName of={hit.author} />
            {hit.at && (
              <>
                , <Time at={hit.at} />
              </>
            )}
          </span>
        )}
      </p>
    </li>
  );
}

/** Every entry of a folder, when no word is looked for. */
function Inside({ section }: { section: string }) {
  const catalogue = useOperation("list_entries", { all: true });
  const inside = (catalogue.data?.entries ?? []).filter(({ id }) => id.startsWith(`${section}/`));
  return (
    <ul className="entries">
      {inside.slice(0, 500).map(({ id, title }) => (
        <li key={id}>
          <h2>
            <Link to={`/entries/${id}`}>
              <Shown text={title} />
            </Link>
          </h2>
          <p className="id">{id}</p>
        </li>
      ))}
    </ul>
  );
}

type ChipsProps = {
  label: string;
  all: string;
  names: string[];
  chosen: string | undefined;
  nameOf?(name: string): string;
  search(name: string | undefined): { [K in keyof Required<Asked>]: Asked[K] | undefined };
};

function Chips({ label, all, names, chosen, nameOf = (name) => name, search }: ChipsProps) {
  return (
    <nav className="chips" aria-label={label}>
      {[undefined, ...names].map((name) => (
        <Link
          key={name ?? ""}
          to="/search"
          search={search(name)}
          className="chip"
          data-on={chosen === name || undefined}
          activeProps={{}}
        >
          {name === undefined ? all : nameOf(name)}
        </Link>
      ))}
    </nav>
  );
}

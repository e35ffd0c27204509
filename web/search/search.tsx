import { TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Search as SearchIcon } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useOperation } from "../client/query.ts";
import { Shown, Snippet } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { countOf } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";

/** What the texts say: ranked passages, narrowed to a folder if wanted. */
export function Search() {
  const { q = "", in: section } = useSearch({ strict: false }) as { q?: string; in?: string };
  const navigate = useNavigate();
  const [text, setText] = useState(q);
  const [wanted] = useDebouncedValue(text.trim(), 200);
  useTitle(q ? `Search: ${q}` : "Search");
  useEffect(() => {
    if (wanted !== q) void navigate({ to: "/search", search: { q: wanted || undefined, in: section }, replace: true });
  }, [wanted, q, section, navigate]);

  const catalogue = useOperation("list_entries", { all: true });
  const folders = useMemo(() => {
    const ids = (catalogue.data?.entries ?? []).map(({ id }) => id);
    return [...new Set(ids.filter((id) => id.includes("/")).map((id) => id.slice(0, id.indexOf("/"))))].sort();
  }, [catalogue.data]);
  const found = useOperation(
    "search_entries",
    { query: q, limit: 30, ...(section ? { section } : {}) },
    { enabled: q !== "", keep: true },
  );
  const inside = section ? (catalogue.data?.entries ?? []).filter(({ id }) => id.startsWith(`${section}/`)) : [];
  const results = found.data?.results ?? [];

  return (
    <div className="column">
      <div className="page-head">
        <h1>Search</h1>
      </div>
      <search className="search-form">
        <TextInput
          type="search"
          size="md"
          aria-label="Search entries"
          placeholder="Words to look for"
          leftSection={<SearchIcon size={18} aria-hidden />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          autoFocus
        />
        {folders.length > 0 && (
          <div className="chips">
            {[undefined, ...folders.slice(0, 40)].map((folder) => (
              <Link
                key={folder ?? ""}
                to="/search"
                search={{ q: q || undefined, in: folder }}
                className="chip"
                data-on={section === folder || undefined}
                activeProps={{}}
              >
                {folder ?? "Everywhere"}
              </Link>
            ))}
          </div>
        )}
      </search>
      {found.error && <Failed error={found.error} again={() => void found.refetch()} />}
      {q !== "" && found.isPending && <Loading />}
      {q !== "" && found.data && (
        <p className="result-count" role="status">
          {results.length === 0 ? "Nothing found" : `${countOf(results.length, "entry matches", "entries match")} ${q}`}
        </p>
      )}
      {q !== "" && found.data && results.length === 0 && (
        <Empty title="No entry matches">
          <p>Fewer or other words may help.</p>
        </Empty>
      )}
      {q !== "" && results.length > 0 && (
        <ol className="entries hits">
          {results.map((hit) => (
            <li key={hit.id}>
              <h2>
                <Link to={`/entries/${hit.id}`}>
                  <Shown text={hit.title} />
                </Link>
              </h2>
              <p className="id">{hit.id}</p>
              <p className="summary">
                <Snippet text={hit.snippet} />
              </p>
            </li>
          ))}
        </ol>
      )}
      {q === "" && section && (
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
      )}
    </div>
  );
}

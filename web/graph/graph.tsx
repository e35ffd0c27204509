import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { mayCall } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { startCreating } from "../creating/creating.ts";
import { later } from "../parts/later.tsx";
import { Shown, Snippet } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { useTitle } from "../parts/title.ts";
import { homeOf } from "./homes.ts";

const Drawing = later(() => import("./drawing.tsx").then(({ Drawing }) => Drawing));

type Asked = { node?: string; type?: string | undefined; depth?: number; q?: string | undefined };

/** The knowledge graph: choose a node, see its neighbours, continue from there. */
export function GraphPage() {
  useTitle("Graph");
  const { node, type, depth = 1, q = "" } = useSearch({ strict: false }) as Asked;
  const navigate = useNavigate();
  const [text, setText] = useState(q);
  const [wanted] = useDebouncedValue(text.trim(), 200);
  const go = (next: Asked, replace = false) => {
    const search = { node, type, depth, q: wanted || undefined, ...next };
    void navigate({ to: "/graph", search: search as never, replace });
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address follows what is searched for, not the other way
  useEffect(() => {
    if (wanted !== q) go({}, true);
  }, [wanted]);
  const found = useOperation(
    "memory_search_nodes",
    { query: wanted, limit: 20, ...(type ? { type } : {}) },
    { enabled: wanted !== "", keep: true },
  );
  const newest = useOperation("memory_query_nodes", { limit: 40, ...(type ? { type } : {}) });
  const around = useOperation(
    "memory_get_subgraph",
    { id: node ?? "", depth, max_nodes: 120 },
    { enabled: node !== undefined, keep: true },
  );
  const types = [
    ...new Set([...(newest.data?.nodes ?? []), ...(around.data?.nodes ?? [])].map((one) => one.type)),
  ].sort();
  const list = wanted === "" ? (newest.data?.nodes ?? []) : (found.data?.nodes ?? []);
  return (
    <div className="graph-view" data-node={node}>
      <section className="graph-list" aria-label="Nodes">
        <h1>Graph</h1>
        <p className="lead">Pages, tasks and what agents recorded, and how they are linked.</p>
        <TextInput
          type="search"
          aria-label="Search nodes"
          placeholder="Search nodes"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <div className="graph-filters">
          <NativeSelect
            aria-label="Type"
            value={type ?? ""}
            onChange={(event) => go({ type: event.currentTarget.value || undefined } as Asked)}
            data={[{ value: "", label: "All types" }, ...types]}
          />
          <NativeSelect
            aria-label="Depth"
            value={String(depth)}
            onChange={(event) => go({ depth: Number(event.currentTarget.value) })}
            data={["1", "2", "3"].map((value) => ({ value, label: `Depth ${value}` }))}
          />
        </div>
        {newest.error && <Failed error={newest.error} />}
        {newest.isPending && <Loading />}
        {newest.data && list.length === 0 && (
          <Empty title={wanted ? "No results" : "No nodes yet"}>
            {wanted ? (
              <>
                <p>Try fewer or other words{type ? ", or all types" : ""}.</p>
                <Button
                  size="xs"
                  variant="default"
                  onClick={() => {
                    setText("");
                    go({ q: undefined, type: undefined });
                  }}
                >
                  Show all nodes
                </Button>
              </>
            ) : (
              <>
                <p>Agents add nodes with the memory tools. Entries, tasks and their links appear automatically.</p>
                {mayCall("create_page") && (
                  <Button size="xs" onClick={() => startCreating({ kind: "page" })}>
                    New page
                  </Button>
                )}
              </>
            )}
          </Empty>
        )}
        <ul className="nodes">
          {list.map((one) => (
            <li key={one.id}>
              <button type="button" data-on={one.id === node || undefined} onClick={() => go({ node: one.id })}>
                <span className="kind">{one.type}</span>
                <Shown text={one.title || one.id} />
                {"snippet" in one && (
                  <span className="detail">
                    <Snippet text={String(one.snippet)} />
                  </span>
                )}
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section className="graph-drawing" aria-label="Neighbourhood of the selected node">
        {node === undefined && (
          <Empty title="Select a node">
            <p>Its neighbours are drawn here.</p>
          </Empty>
        )}
        {around.error && <Failed error={around.error} />}
        {node !== undefined && around.data && (
          <>
            <Drawing
              nodes={around.data.nodes}
              edges={around.data.edges}
              chosen={node}
              onChoose={(id) => go({ node: id })}
            />
            <About id={node} truncated={around.data.truncated ?? false} />
          </>
        )}
      </section>
    </div>
  );
}

function About({ id, truncated }: { id: string; truncated: boolean }) {
  const node = useOperation("memory_get_node", { id, fields: ["*"] });
  const home = homeOf(id);
  if (!node.data) {
    return (
      <aside className="graph-about" aria-label="Selected node">
        <Loading lines={3} />
      </aside>
    );
  }
  return (
    <aside className="graph-about" aria-label="Selected node">
      <h2>
        <Shown text={node.data.title || id} />
      </h2>
      <p className="facts">
        <span className="mode">{node.data.type}</span>
        <span>version {node.data.version}</span>
        <span>
          by <Shown text={node.data.created_by} />
        </span>
      </p>
      {home && <Link to={home}>Open</Link>}
      {truncated && <p className="small">Not all neighbours are shown.</p>}
      <dl className="about small">
        {Object.entries(node.data.properties ?? {})
          .filter(([name, value]) => !(name === "title" && value === node.data.title))
          .slice(0, 12)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Shown text={(typeof value === "string" ? value : JSON.stringify(value)).slice(0, 300)} />
              </dd>
            </div>
          ))}
      </dl>
    </aside>
  );
}

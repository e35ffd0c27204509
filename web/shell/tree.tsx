import { useQueryClient } from "@tanstack/react-query";
import { Link, useRouterState } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";
import { spellHidden } from "../../src/kernel/hidden.ts";
import { boot } from "../boot.ts";
import { mayCall } from "../client/call.ts";
import { renderedQuery, useOperation } from "../client/query.ts";
import { startCreating } from "../creating/creating.ts";
import { ChevronRight, FileText, ScrollText } from "../parts/icons.tsx";
import { pathOf } from "../parts/paths.ts";
import { Shown } from "../parts/shown.tsx";
import { ancestorsOf, buildTree, flatten, type Leaf } from "./tree-model.ts";

/** The pages of the workspace, folder by folder; only the rows in sight are in the document. */
export function Tree() {
  const entries = useOperation("list_entries", { all: true });
  const pages = useOperation("list_pages", { others: true });
  const here = decodeURIComponent(useRouterState({ select: (state) => state.location.pathname }));
  const [toggled, setToggled] = useState<Record<string, boolean>>({});

  const tree = useMemo(() => {
    const known: Leaf[] = (entries.data?.entries ?? []).map(({ id, title, mode }) => ({
      key: id,
      title,
      mode,
      to: `/entries/${id}`,
    }));
    const others: Leaf[] = (pages.data?.pages ?? []).map(({ path }) => ({
      key: `/${path}`,
      title: path.split("/").at(-1) ?? path,
      mode: "page",
      to: `/pages/${path}`,
    }));
    return buildTree([...known, ...others]);
  }, [entries.data, pages.data]);

  const rows = useMemo(() => {
    const open = new Set(ancestorsOf(here));
    const isOpen = (folder: string, depth: number) =>
      toggled[folder] ?? (open.has(folder) || (depth === 0 && tree.size <= 60 && !folder.startsWith("/")));
    return flatten(tree, isOpen);
  }, [tree, toggled, here]);

  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 30,
    overscan: 12,
    initialRect: { width: 240, height: 600 },
  });
  const queries = useQueryClient();

  return (
    <nav aria-label="Pages" className="tree" ref={scroller}>
      {(mayCall("create_page") || mayCall("create_section")) && (
        <p className="tree-new">
          {mayCall("create_page") && (
            <button type="button" className="link-button" onClick={() => startCreating({ kind: "page" })}>
              New page
            </button>
          )}
          {mayCall("create_section") && (
            <button type="button" className="link-button" onClick={() => startCreating({ kind: "section" })}>
              New section
            </button>
          )}
        </p>
      )}
      {entries.isPending && <p className="hint">Loading pages</p>}
      <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (!row) return null;
          const style = { transform: `translateY(${item.start}px)`, paddingLeft: 10 + row.depth * 14 };
          if (row.kind === "folder") {
            return (
              <button
                key={row.key}
                type="button"
                className="row tree-folder"
                style={style}
                aria-expanded={row.isOpen}
                onClick={() => setToggled({ ...toggled, [row.key]: !row.isOpen })}
              >
                <ChevronRight size={14} aria-hidden className={row.isOpen ? "turned" : ""} />
                <Shown text={row.name} />
              </button>
            );
          }
          const { leaf } = row;
          return (
            <Link
              key={row.key}
              to={leaf.to}
              className="row"
              style={style}
              title={spellHidden(leaf.title)}
              onMouseEnter={() => void queries.prefetchQuery(renderedQuery(pathOf(leaf.to, boot.workspace.wiki)))}
            >
              {leaf.mode === "log" ? <ScrollText size={14} aria-label="log" /> : <FileText size={14} aria-hidden />}
              <Shown text={leaf.title} />
            </Link>
          );
        })}
      </div>
    </nav>
  );
}

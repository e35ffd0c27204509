import { Link } from "@tanstack/react-router";
import { type ReactNode, useRef, useState } from "react";
import type { RenderedPage } from "../../src/http/web-types.ts";
import { ActivityStrip } from "../activity/strip.tsx";
import { boot } from "../boot.ts";
import { useOperation } from "../client/query.ts";
import { Rendered } from "../parts/rendered.tsx";
import { Shown } from "../parts/shown.tsx";
import type { PageSearch } from "../routes.tsx";
import { Caret } from "../topics/caret.tsx";
import { Discussion } from "../topics/discussion.tsx";
import { SelectionBar } from "../topics/selection-bar.tsx";
import { newDraft, type TopicDraft, useTopicDrafts } from "../topics/topic-drafts.ts";
import { TrustMarks } from "../trust/marks.tsx";
import { TrustSummary, useAllMarks } from "../trust/summary.tsx";
import { Contents, type Heading, headingsIn } from "./contents.tsx";
import { LinkPreview } from "./link-preview.tsx";

type Props = { page: RenderedPage; search: PageSearch; show(next: PageSearch): void };

const mostMarks = 2000;

/** The page, with its topics or its details in the side panel. */
export function Reading({ page, search, show }: Props) {
  const body = useRef<HTMLDivElement>(null);
  const [headings, setHeadings] = useState<Heading[]>([]);
  const [composing, setComposing] = useState<TopicDraft>();
  const drafts = useTopicDrafts(page.path);
  const isLatest = search.version === undefined;
  const topics = useOperation("list_topics", { source_path: page.path, limit: 100 }, { enabled: isLatest });
  const isSource = page.path.startsWith(`${boot.workspace.sources}/`);
  const [isAllMarked, markAll] = useAllMarks();
  const trust = useOperation(
    "get_trust",
    { id: page.path, limit: mostMarks, ...(isAllMarked ? {} : { doubtful: true }) },
    { enabled: isLatest && !isSource && !page.is_beginning, keep: true },
  );
  const open = (topics.data?.topics ?? []).filter(({ status }) => status === "open").length;
  const side = isLatest
    ? search.topic
      ? "talk"
      : (search.side ?? (open + drafts.length > 0 ? "talk" : "about"))
    : "about";
  const tab = (name: "talk" | "about", label: string) => (
    <button type="button" role="tab" aria-selected={side === name} onClick={() => show({ side: name })}>
      {label}
    </button>
  );
  return (
    <div className={side === "talk" ? "with-side discussing" : "with-side"}>
      <div className="text">
        <Rendered
          html={page.html}
          title={page.title}
          sourceSha={page.source_sha}
          body={body}
          onReady={() => body.current && setHeadings(headingsIn(body.current))}
        />
        <LinkPreview body={body} />
        {isLatest && <Caret body={body} />}
        {isLatest && trust.data && (
          <TrustMarks page={page} body={body} passages={trust.data.passages} wanted={search.passage} />
        )}
      </div>
      <aside aria-label="Side panel">
        {isLatest && (
          <div className="side-tabs" role="tablist" aria-label="Side panel">
            {tab("talk", open > 0 ? `Discussion ${open}` : "Discussion")}
            {tab("about", "About")}
          </div>
        )}
        {side === "talk" ? (
          <Discussion
            page={page}
            body={body}
            search={search}
            show={show}
            composing={composing}
            onCompose={setComposing}
          />
        ) : (
          <>
            <About page={page} headings={headings}>
              {isLatest && trust.data && (
                <TrustSummary counts={trust.data.counts} isAll={isAllMarked} onAll={markAll} />
              )}
            </About>
            {isLatest && (
              <SelectionBar
                body={body}
                onDiscuss={(passage) => {
                  setComposing(newDraft(passage));
                  show({ side: "talk" });
                }}
              />
            )}
          </>
        )}
      </aside>
    </div>
  );
}

type AboutProps = { page: RenderedPage; headings: Heading[]; children: ReactNode };

function About({ page, headings, children }: AboutProps) {
  return (
    <>
      {headings.length > 1 && <Contents headings={headings} />}
      {children}
      {page.entry && <Backlinks id={page.entry.id} />}
      {page.section && (
        <section>
          <h2>Purpose</h2>
          <p className="small">
            <Shown text={page.section.description} />
          </p>
          <h2>Writers</h2>
          <Writers roles={page.section.writable_by} />
        </section>
      )}
      <ActivityStrip page={page.path} />
    </>
  );
}

function Writers({ roles }: { roles: string[] }) {
  if (roles.length === 0) return <p className="small">People only</p>;
  return (
    <ul className="roles">
      {roles.map((role) => (
        <li key={role}>
          <Shown text={role} />
        </li>
      ))}
    </ul>
  );
}

function Backlinks({ id }: { id: string }) {
  const found = useOperation("list_backlinks", { id: `entry:${id}`, limit: 50 });
  const links = found.data?.backlinks ?? [];
  if (links.length === 0) return null;
  return (
    <section>
      <h2>Linked from</h2>
      <ul className="links">
        {links.map((node) => (
          <li key={node.id}>
            <Link to={`/entries/${node.id.slice("entry:".length)}`}>
              <Shown text={node.title} />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

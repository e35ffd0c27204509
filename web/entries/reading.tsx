import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import type { RenderedPage } from "../../src/http/web-types.ts";
import { ActivityStrip } from "../activity/strip.tsx";
import { useOperation } from "../client/query.ts";
import { Rendered } from "../parts/rendered.tsx";
import { Shown } from "../parts/shown.tsx";
import type { PageSearch } from "../routes.tsx";
import { Caret } from "../topics/caret.tsx";
import { Discussion } from "../topics/discussion.tsx";
import { SelectionBar } from "../topics/selection-bar.tsx";
import { newDraft, type TopicDraft, useTopicDrafts } from "../topics/topic-drafts.ts";
import { Contents, type Heading, headingsIn } from "./contents.tsx";
import { LinkPreview } from "./link-preview.tsx";

type Props = { page: RenderedPage; search: PageSearch; show(next: PageSearch): void };

/** The page, with its topics or its details in the side panel. */
export function Reading({ page, search, show }: Props) {
  const body = useRef<HTMLDivElement>(null);
  const [headings, setHeadings] = useState<Heading[]>([]);
  const [composing, setComposing] = useState<TopicDraft>();
  const drafts = useTopicDrafts(page.path);
  const isLatest = search.version === undefined;
  const topics = useOperation("list_topics", { source_path: page.path, limit: 100 }, { enabled: isLatest });
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
            <About page={page} headings={headings} />
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

function About({ page, headings }: { page: RenderedPage; headings: Heading[] }) {
  return (
    <>
      {headings.length > 1 && <Contents headings={headings} />}
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

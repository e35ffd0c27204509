import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import type { RenderedPage } from "../../src/http/rendered.ts";
import { useOperation } from "../client/query.ts";
import { Rendered } from "../parts/rendered.tsx";
import { Shown } from "../parts/shown.tsx";
import type { PageSearch } from "../routes.tsx";
import { Contents, type Heading, headingsIn } from "./contents.tsx";
import { LinkPreview } from "./link-preview.tsx";

type Props = { page: RenderedPage; search: PageSearch; show(next: PageSearch): void; onWide(wide: boolean): void };

/** The page to be read, with what belongs to it beside it. */
export function Reading({ page }: Props) {
  const body = useRef<HTMLDivElement>(null);
  const [headings, setHeadings] = useState<Heading[]>([]);
  return (
    <div className="with-side">
      <div className="text">
        <Rendered
          html={page.html}
          title={page.title}
          body={body}
          onReady={() => body.current && setHeadings(headingsIn(body.current))}
        />
        <LinkPreview body={body} />
      </div>
      <aside aria-label="About this page">
        {headings.length > 1 && <Contents headings={headings} />}
        {page.entry && <Backlinks id={page.entry.id} />}
        {page.section && (
          <section>
            <h2>What belongs here</h2>
            <p className="small">
              <Shown text={page.section.description} />
            </p>
            <h2>Who may write</h2>
            <Writers roles={page.section.writableBy} />
          </section>
        )}
      </aside>
    </div>
  );
}

function Writers({ roles }: { roles: string[] }) {
  if (roles.length === 0) return <p className="small">People only.</p>;
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
  const found = useOperation("memory_get_neighbors", { id: `entry:${id}`, direction: "in", limit: 50 });
  const links = (found.data?.neighbors ?? []).filter((node) => node.id.startsWith("entry:"));
  if (links.length === 0) return null;
  return (
    <section>
      <h2>Linked from</h2>
      <ul className="links">
        {links.map((node) => (
          <li key={node.edge.id}>
            <Link to={`/entries/${node.id.slice("entry:".length)}`}>
              <Shown text={node.title} />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

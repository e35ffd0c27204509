import { SegmentedControl } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { boot } from "../boot.ts";
import { Refusal } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { Lines } from "../parts/lines.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading, NotHere } from "../parts/state.tsx";
import { bytes, Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";

/** One source: what it says, and where it comes from. */
export function SourcePage() {
  const { _splat: path = "" } = useParams({ strict: false });
  useTitle(path);
  const found = useOperation("read_source", { path });
  const [as, setAs] = useState<"rendered" | "text">("rendered");
  const source = found.data;
  if (found.error instanceof Refusal && found.error.status === 404) {
    return (
      <NotHere what={`Source ${path} does not exist.`}>
        <p>
          <Link to="/sources">Open Sources</Link>
        </p>
      </NotHere>
    );
  }
  const isMarkdown = /\.(md|markdown)$/i.test(path);
  return (
    <article className="page">
      <header className="page-top">
        <nav className="crumbs" aria-label="Breadcrumbs">
          <ol>
            <li>
              <Link to="/sources">Sources</Link>
            </li>
          </ol>
        </nav>
        <div className="page-title">
          <h1 className="entry-title">
            <Shown text={path} />
          </h1>
          {isMarkdown && source?.content && (
            <SegmentedControl
              size="xs"
              aria-label="View of the source"
              value={as}
              onChange={(value) => setAs(value as typeof as)}
              data={[
                { value: "rendered", label: "Rendered" },
                { value: "text", label: "Text" },
              ]}
            />
          )}
        </div>
        {source && (
          <p className="facts">
            <span>{bytes(source.size)}</span>
            <span>
              <Shown text={source.added_by} />, <Time at={source.at} />
            </span>
            <span>
              SHA-256 <code title={source.sha256}>{source.sha256.slice(0, 12)}</code>
            </span>
          </p>
        )}
        {source?.truncated && <p className="note">Truncated; the rest is in the file.</p>}
      </header>
      {found.error && <Failed error={found.error} again={() => void found.refetch()} />}
      {found.isPending && <Loading lines={12} />}
      {source?.content === null && (
        <Empty title="No text found">
          <p>The file is unchanged in the sources folder of the workspace.</p>
        </Empty>
      )}
      {source?.content &&
        (isMarkdown && as === "rendered" ? (
          <Markdown text={source.content} path={`${boot.workspace.sources}/${path}`} />
        ) : (
          <Lines text={source.content} label="Text of the source" />
        ))}
    </article>
  );
}

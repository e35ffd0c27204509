import { SegmentedControl } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useOperation } from "../client/query.ts";
import { RenderedDiff } from "../parts/rendered-diff.tsx";
import { Shown } from "../parts/shown.tsx";
import { SourceDiff } from "../parts/source-diff.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import type { PageSearch } from "../routes.tsx";
import { Restore } from "./restore.tsx";

type Props = {
  id: string;
  path: string;
  mode: "snapshot" | "log";
  latest: number;
  compare: number | undefined;
  show(next: PageSearch): void;
};

/** Every version, newest first, and what the chosen one changed. */
export function HistoryView({ id, path, mode, latest, compare, show }: Props) {
  const history = useOperation("entry_history", { id, limit: 200 });
  const [as, setAs] = useState<"rendered" | "source">("rendered");
  if (history.error) return <Failed error={history.error} again={() => void history.refetch()} />;
  if (!history.data) return <Loading lines={10} />;
  const { versions } = history.data;
  if (versions.length === 0) return <Empty title="No history yet" />;
  const chosen = compare ?? latest;
  return (
    <div className="history">
      <section aria-label="Versions">
        <ol className="versions">
          {versions.map((version) => (
            <li key={version.version} aria-current={version.version === chosen ? "true" : undefined}>
              <button
                type="button"
                className="version"
                onClick={() => show({ view: "history", compare: version.version })}
              >
                <span>
                  Version {version.version}
                  {version.version === latest && <span className="tag">latest</span>}
                </span>
                <span className="change">
                  <Shown text={version.summary} />
                </span>
                <span className="by">
                  <Shown text={version.author} />
                  {version.role && version.role !== version.author && ` as ${version.role}`}, <Time at={version.at} />
                </span>
              </button>
            </li>
          ))}
        </ol>
      </section>
      <section className="change-view" aria-label={`Changes in version ${chosen}`}>
        <div className="change-head">
          <h2>What version {chosen} changed</h2>
          <SegmentedControl
            size="xs"
            value={as}
            onChange={(value) => setAs(value as typeof as)}
            data={[
              { value: "rendered", label: "Rendered" },
              { value: "source", label: "Source" },
            ]}
            aria-label="View of the change"
          />
          <Link to="." search={{ version: chosen } as never}>
            Read this version
          </Link>
          <Restore
            key={chosen}
            id={id}
            mode={mode}
            version={chosen}
            latest={latest}
            onDone={() => show({ view: "history" })}
          />
        </div>
        <Change id={id} path={path} version={chosen} as={as} />
      </section>
    </div>
  );
}

type ChangeProps = { id: string; path: string; version: number; as: "rendered" | "source" };

function Change({ id, path, version, as }: ChangeProps) {
  const after = useOperation("fetch_entry", { id, version });
  const before = useOperation("fetch_entry", { id, version: version - 1 }, { enabled: version > 1 });
  if (after.error) return <Failed error={after.error} />;
  if (before.error) return <p className="note">The text of the previous version is no longer in git.</p>;
  if (!after.data || (version > 1 && !before.data)) return <Loading />;
  const texts = { before: before.data?.content ?? "", after: after.data.content };
  return as === "rendered" ? <RenderedDiff {...texts} path={path} /> : <SourceDiff {...texts} />;
}

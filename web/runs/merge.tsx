import type { Output } from "../client/call.ts";
import { PreviewDialog } from "../parts/preview-dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { countOf } from "../parts/time.tsx";

type Merge = Output<"merge_run">;

/** Shows branch, commit and files of a merge, or its conflicts, and merges once the person confirms. */
export function MergeDialog({ run, onClose }: { run: string; onClose(): void }) {
  return (
    <PreviewDialog
      operation="merge_run"
      input={{ id: run }}
      confirm={({ accepted: commit }) => ({ id: run, commit, confirm: true })}
      title="Merge accepted work"
      doneTitle="Accepted work merged"
      button="Merge"
      color="sienna"
      isEmpty={({ already }) => already}
      onClose={onClose}
    >
      {(merge, isDone) => (
        <>
          <Summary merge={merge} isDone={isDone} />
          {merge.files.length > 0 && (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys must be able to do that
            <section className="effects" aria-label="Files" tabIndex={0}>
              <ul>
                {merge.files.map(({ path, status }) => (
                  <li key={path}>
                    <code>
                      <Shown text={path} />
                    </code>{" "}
                    <span className="muted">{status}</span>
                  </li>
                ))}
              </ul>
            </section>
          )}
          {!isDone && !merge.already && (
            <details>
              <summary>Commit message</summary>
              <pre className="job-log">
                <Shown text={merge.message} />
              </pre>
            </details>
          )}
        </>
      )}
    </PreviewDialog>
  );
}

const short = (commit: string) => commit.slice(0, 10);

function Summary({
  merge: { already, into, from, accepted, commit, files, folder },
  isDone,
}: {
  merge: Merge;
  isDone: boolean;
}) {
  const branch = (
    <code>
      <Shown text={into} />
    </code>
  );
  if (already)
    return (
      <p className="note" role="status">
        {branch} has the accepted work already.
      </p>
    );
  const changed = countOf(files.length, "file", "files");
  if (!isDone)
    return (
      <p>
        Commit <code>{short(accepted)}</code> of{" "}
        <code>
          <Shown text={from} />
        </code>{" "}
        is merged into {branch}, without conflicts. It changes {changed}:
      </p>
    );
  return (
    <p className="note" role="status">
      Merged {changed} into {branch}
      {commit !== null && (
        <>
          {" "}
          as commit <code>{short(commit)}</code>
        </>
      )}
      {folder !== null && (
        <>
          ; the files in{" "}
          <code>
            <Shown text={folder} />
          </code>{" "}
          are updated
        </>
      )}
      .
    </p>
  );
}

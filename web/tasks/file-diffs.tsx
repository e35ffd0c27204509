import type { Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { SourceHunks } from "../parts/source-diff.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { countOf } from "../parts/time.tsx";

type FileDiff = Output<"attempt_diff">["files"][number];
type Props = { task: string; attempt: string; against?: string };

/** The files of an attempt against the accepted work it started from, or against another attempt. */
export function FileDiffs({ task, attempt, against }: Props) {
  const input = { id: task, attempt, ...(against ? { against } : {}) };
  const { data, error, refetch } = useOperation("attempt_diff", input);
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading lines={6} />;
  if (data.files.length === 0) return <p className="muted">No differences in files.</p>;
  const where = against ? `from attempt ${against} to ${attempt}` : `in attempt ${attempt}`;
  return (
    <div className="file-diffs">
      {data.files.map((file) => (
        <File key={file.path} file={file} where={where} />
      ))}
      {data.more_files > 0 && (
        <p className="note">{countOf(data.more_files, "more file is", "more files are")} not listed.</p>
      )}
    </div>
  );
}

const omittedWords = {
  binary: "A binary file: it has no lines to compare.",
  large: "Too large to show here. Look at it with git.",
} as const;

function File({ file, where }: { file: FileDiff; where: string }) {
  const { path, old_path, status, added, removed, hunks, omitted } = file;
  return (
    <div>
      <p className="file-head">
        <code>
          {old_path !== null && (
            <>
              <Shown text={old_path} /> →{" "}
            </>
          )}
          <Shown text={path} />
        </code>
        <span className="muted">{status}</span>
        {omitted === null && (
          <span className="muted number">
            +{added} −{removed}
          </span>
        )}
      </p>
      {omitted !== null && <p className="note">{omittedWords[omitted]}</p>}
      {hunks.length > 0 && <SourceHunks hunks={hunks} label={`Change of ${path} ${where}`} />}
      {omitted === null && hunks.length === 0 && <p className="muted small">The content is the same.</p>}
    </div>
  );
}

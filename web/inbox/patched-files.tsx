import { parsePatch } from "diff";
import { type ReactNode, useMemo } from "react";
import { Shown } from "../parts/shown.tsx";
import { SourceHunks } from "../parts/source-diff.tsx";

type PatchProps = {
  diff: string;
  truncated: boolean;
  /** The files to show, also those that a truncated patch lacks; left out, those of the patch. */
  paths?: string[];
  about?(path: string): ReactNode;
};

/** The files of a patch, each with its hunks. */
export function PatchedFiles({ diff, truncated, paths, about }: PatchProps) {
  const files = useMemo(() => (diff === "" ? [] : filesOf(diff)), [diff]);
  const shown = paths ?? files.map(({ path }) => path);
  return (
    <>
      {shown.map((path) => (
        <section key={path} aria-label={path}>
          <h2>
            <code>
              <Shown text={path} />
            </code>
          </h2>
          {about?.(path)}
          <SourceHunks hunks={files.find((file) => file.path === path)?.hunks ?? []} label={`Change of ${path}`} />
        </section>
      ))}
      {truncated && <p className="note">The change is too long to show whole. Look at it with git.</p>}
    </>
  );
}

/** The files of a patch by path. */
export const filesOf = (diff: string) =>
  parsePatch(diff).map(({ oldFileName = "", newFileName = "", hunks }) => ({
    path: (newFileName === "/dev/null" ? oldFileName : newFileName).replace(/^[ab]\//, ""),
    hunks: hunks.map(({ oldStart, newStart, lines }) => ({ old_start: oldStart, new_start: newStart, lines })),
  }));

import { Textarea } from "@mantine/core";
import { parsePatch } from "diff";
import { type ReactNode, useMemo, useState } from "react";
import type { OperationName } from "../../src/operation-loaders.ts";
import { mayCall } from "../client/call.ts";
import { Shown } from "../parts/shown.tsx";
import { SourceHunks } from "../parts/source-diff.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";

type Choice = { id: string; label: string; operation: OperationName; when: boolean; run(note: string): void };

type Props = {
  label: string;
  description: string;
  /** The decision that goes on; ⌘/Ctrl+Enter in the card. */
  accept: Choice;
  /** The other one; with Shift. */
  decline: Choice & { needsNote?: boolean };
};

/** A note and two buttons that decide something that waits. No bare key decides. */
export function DecisionCard({ label, description, accept, decline }: Props) {
  const [note, setNote] = useState("");
  const words = note.trim();
  const action = ({ run, ...choice }: Choice, keys: string, when: boolean): Action => ({
    ...choice,
    ...{ group: "Decision", keys, within: ".decide", when, run: () => run(words) },
  });
  const actions = [
    action(accept, "mod+enter", accept.when),
    action(decline, "mod+shift+enter", decline.when && (!decline.needsNote || words !== "")),
  ].map(({ needsNote: _, ...one }: Action & { needsNote?: boolean }): Action => one);
  useActions(actions);
  if (!mayCall(accept.operation)) return <p className="note">Only collaborators and admins can decide.</p>;
  return (
    <section className="decide" aria-label="Decision">
      <Textarea
        label={label}
        description={description}
        autosize
        minRows={2}
        maxLength={2000}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      <div className="row-of-buttons">
        {actions.map((one, at) => (
          <ActionButton key={one.id} action={one} {...(at === 0 ? {} : { variant: "default" })} />
        ))}
      </div>
    </section>
  );
}

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

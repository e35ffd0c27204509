import { Button } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import type { RenderedPage } from "../../src/http/web-types.ts";
import { bodyStart } from "../../src/kernel/markdown/frontmatter.ts";
import { useFirstAnswer, useOperation, useWrite } from "../client/query.ts";
import { CodeEditor } from "../parts/code-editor.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { type Clash, Conflict } from "./conflict.tsx";
import { type Draft, dropDraft, keepDraft, loadEntryDraft } from "./draft.ts";
import { LogEditor } from "./log-editor.tsx";

type Props = { page: RenderedPage; onDone(): void };

export function Editor({ page, onDone }: Props) {
  const { entry } = page;
  const latest = useOperation("fetch_entry", { id: entry?.id ?? "" }, { enabled: entry?.mode === "snapshot" });
  const first = useFirstAnswer(latest);
  if (!entry) return null;
  if (entry.mode === "log") return <LogEditor page={page} onDone={onDone} />;
  if (first && latest.data) {
    const { id } = entry;
    return <SnapshotEditor key={id} id={id} path={page.path} first={first} latest={latest.data} onDone={onDone} />;
  }
  if (latest.error) return <Failed error={latest.error} again={() => void latest.refetch()} />;
  return <Loading lines={12} />;
}

type Latest = { content: string; version: number; metadata: { lastAuthor: string } };

type EditorProps = { id: string; path: string; first: Latest; latest: Latest; onDone(): void };

/** The text and how it will look. It is saved over the version it began from, or not at all. */
function SnapshotEditor({ id, path, first, latest, onDone }: EditorProps) {
  const [begun, setBegun] = useState<Draft>(
    () => loadEntryDraft(id) ?? { text: first.content, base: first.content, version: first.version },
  );
  const [text, setText] = useState(begun.text);
  const [clash, setClash] = useState<Clash>();
  const current = useRef(text);
  current.current = text;
  const isChanged = text !== begun.base;

  const save = useWrite("commit_entry", {
    onDone({ version }, { content }) {
      say(`Saved version ${version}`);
      if (current.current !== content) {
        // Typed while it was saved: the next save is on top of this version.
        setBegun({ text: current.current, base: content, version });
        setClash(undefined);
        return;
      }
      dropDraft(id);
      onDone();
    },
    onRefused(refusal) {
      if (refusal.status !== 409) return false;
      setClash({
        base: begun.base,
        mine: current.current,
        theirs: String(refusal.details.latestContent ?? ""),
        version: Number(refusal.details.latestVersion),
        ...(typeof refusal.details.merged === "string"
          ? { merged: refusal.details.merged, mergedVersion: Number(refusal.details.merged_version) }
          : {}),
      });
      return true;
    },
  });

  useEffect(() => {
    if (isChanged) keepDraft(id, { ...begun, text });
    else dropDraft(id);
  }, [id, begun, text, isChanged]);

  const actions: Record<"save" | "leave", Action> = {
    save: {
      id: "editor-save",
      label: "Save",
      group: "Page",
      keys: "mod+s",
      operation: "commit_entry",
      when: isChanged && !save.isPending,
      run: () => save.mutate({ id, content: current.current, version: begun.version }),
    },
    leave: { id: "editor-leave", label: isChanged ? "Close and keep draft" : "Close", group: "Page", run: onDone },
  };
  useActions(Object.values(actions));

  if (clash) {
    return (
      <Conflict
        clash={clash}
        busy={save.isPending}
        onSave={(content, version) => save.mutate({ id, content, version })}
        onText={setText}
      />
    );
  }
  return (
    <div className="editor">
      {latest.version > begun.version && (
        <p className="note" role="status">
          {latest.metadata.lastAuthor} saved version {latest.version} while you were editing. Saving shows both texts.
        </p>
      )}
      {begun.text !== begun.base && (
        <p className="note">
          This is your unsaved draft.{" "}
          <button
            type="button"
            className="link-button"
            onClick={() => {
              dropDraft(id);
              onDone();
            }}
          >
            Discard draft
          </button>
        </p>
      )}
      <div className="editor-panes">
        <CodeEditor value={begun.text} onChange={setText} label="Text of the page" onSave={actions.save.run} />
        <Preview text={text} path={path} />
      </div>
      <div className="editor-foot">
        <ActionButton action={actions.save} busy={save.isPending} />
        <Button variant="default" onClick={actions.leave.run}>
          {actions.leave.label}
        </Button>
        <span className="hint">
          Based on version {begun.version}. Your draft is kept in this browser until you save.
        </span>
      </div>
    </div>
  );
}

/** `path`: the file that relative links and images start from. */
export function Preview({ text, path }: { text: string; path: string }) {
  const [shown] = useDebouncedValue(text, 250);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys must be able to do that
    <section className="preview" aria-label="Preview" tabIndex={0}>
      <Markdown text={shown.slice(bodyStart(shown))} path={path} />
    </section>
  );
}

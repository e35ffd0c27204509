import { MergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { Button, SegmentedControl } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { nonce } from "../boot.ts";
import { editing, looks } from "../parts/codemirror.ts";
import { SourceDiff } from "../parts/source-diff.tsx";
import { Problem } from "../parts/state.tsx";

export type Clash = {
  base: string;
  mine: string;
  theirs: string;
  version: number;
  merged?: string;
  mergedVersion?: number;
};

type Props = {
  clash: Clash;
  /** What the others saved. */
  name?: string;
  /** Why the last save was refused. */
  trouble?: string | undefined;
  busy: boolean;
  onSave(content: string, version: number): void;
  onText(mine: string): void;
};

/** Someone else saved first. Both texts and the one they began from are here; nothing is lost. */
export function Conflict({ clash, name = `version ${clash.version}`, trouble, busy, onSave, onText }: Props) {
  const [text, setText] = useState(clash.mine);
  const [start, setStart] = useState(clash.mine);
  const [look, setLook] = useState<"merge" | "theirs" | "mine">("merge");
  return (
    <div className="editor conflict">
      <div className="note" role="alert">
        <p>
          Someone saved {name} while you were editing. Nothing is overwritten: merge the two on the right, then save.
        </p>
        {clash.merged !== undefined && (
          <p>
            The two changes do not overlap.{" "}
            <button
              type="button"
              className="link-button"
              onClick={() => {
                setStart(clash.merged ?? "");
                setText(clash.merged ?? "");
                onText(clash.merged ?? "");
                setLook("merge");
              }}
            >
              Keep both
            </button>
          </p>
        )}
      </div>
      <SegmentedControl
        size="xs"
        aria-label="Texts to compare"
        value={look}
        onChange={(value) => setLook(value as typeof look)}
        data={[
          { value: "merge", label: "Theirs and yours" },
          { value: "theirs", label: "Their changes" },
          { value: "mine", label: "Your changes" },
        ]}
      />
      {look === "merge" && (
        <Merge
          key={start}
          theirs={clash.theirs}
          mine={start === clash.mine ? text : start}
          onChange={(mine) => {
            setText(mine);
            onText(mine);
          }}
        />
      )}
      {look === "theirs" && <SourceDiff before={clash.base} after={clash.theirs} />}
      {look === "mine" && <SourceDiff before={clash.base} after={text} />}
      <Problem text={trouble} />
      <div className="editor-foot">
        <Button loading={busy} onClick={() => onSave(text, clash.version)}>
          Save on top of {name}
        </Button>
        <span className="hint">Left: {name}. Right: yours, to be saved.</span>
      </div>
    </div>
  );
}

function Merge({ theirs, mine, onChange }: { theirs: string; mine: string; onChange(text: string): void }) {
  const place = useRef<HTMLDivElement>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const texts = useRef({ theirs, mine });
  useEffect(() => {
    if (!place.current) return;
    const common = [EditorView.cspNonce.of(nonce), EditorView.lineWrapping, looks];
    const view = new MergeView({
      parent: place.current,
      a: {
        doc: texts.current.theirs,
        extensions: [
          common,
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ "aria-label": "Their text", tabindex: "0" }),
        ],
      },
      b: {
        doc: texts.current.mine,
        extensions: [
          common,
          editing,
          EditorView.contentAttributes.of({ "aria-label": "Your text", tabindex: "0" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString());
          }),
        ],
      },
      revertControls: "a-to-b",
      collapseUnchanged: { margin: 3, minSize: 6 },
    });
    return () => view.destroy();
  }, []);
  return <div className="merge" ref={place} />;
}

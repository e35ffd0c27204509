import { autocompletion, type CompletionContext } from "@codemirror/autocomplete";
import { markdown } from "@codemirror/lang-markdown";
import { EditorView, keymap } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { nonce } from "../boot.ts";
import { operationQuery, queries } from "../client/query.ts";
import { editing, looks } from "./codemirror.ts";

type Props = { value: string; onChange(text: string): void; label: string; onSave?: () => void };

/** Markdown with its own keys; `[[` offers the entries there are. Tab indents; Escape, then Tab leaves. */
export function CodeEditor({ value, onChange, label, onSave }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const save = useRef(onSave);
  save.current = onSave;
  const begin = useRef(value);
  useEffect(() => {
    if (!place.current) return;
    const view = new EditorView({
      parent: place.current,
      doc: begin.current,
      extensions: [
        EditorView.cspNonce.of(nonce),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        keymap.of([
          {
            key: "Mod-s",
            run() {
              save.current?.();
              return true;
            },
          },
        ]),
        markdown(),
        autocompletion({ override: [entryLinks] }),
        editing,
        looks,
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed.current(update.state.doc.toString());
        }),
      ],
    });
    view.focus();
    return () => view.destroy();
  }, [label]);
  return <div className="code-editor" ref={place} />;
}

async function entryLinks(context: CompletionContext) {
  const before = context.matchBefore(/\[\[[^\]\n]*/);
  if (!before) return null;
  const { entries } = await queries.fetchQuery(operationQuery("list_entries", { all: true }));
  return {
    from: before.from + 2,
    options: entries.map(({ id, title }) => ({ label: id, detail: title, apply: `${id}]]` })),
    validFor: /^[\w/-]*$/,
  };
}

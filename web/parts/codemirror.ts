import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** How our editors look: the page's own colours, in both themes. */
export const looks = [
  EditorView.theme({
    "&": { height: "100%", fontSize: "0.9rem", backgroundColor: "var(--surface)", color: "var(--ink)" },
    ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.65" },
    ".cm-content": { padding: "1rem", caretColor: "var(--ink)" },
    ".cm-gutters": { backgroundColor: "transparent", border: "none", color: "var(--muted)" },
    "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
    ".cm-cursor": { borderLeftColor: "var(--ink)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
      backgroundColor: "var(--selection)",
    },
  }),
  syntaxHighlighting(
    HighlightStyle.define([
      { tag: tags.heading, fontWeight: "650", color: "var(--accent)" },
      { tag: tags.emphasis, fontStyle: "italic" },
      { tag: tags.strong, fontWeight: "650" },
      { tag: [tags.link, tags.url], color: "var(--link)" },
      { tag: tags.monospace, color: "var(--code-token-string)" },
      { tag: [tags.quote, tags.processingInstruction, tags.meta], color: "var(--muted)" },
    ]),
  ),
];

export const editing = [
  history(),
  search({ top: true }),
  highlightSelectionMatches(),
  keymap.of([...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
];

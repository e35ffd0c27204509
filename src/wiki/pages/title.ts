import { parseDocument, readFront } from "../stores/document.ts";

/** The title of a page: from its frontmatter, its first heading or its file name. */
export function titleOf(text: string, path: string): string {
  const document = parseDocument(Buffer.from(text));
  const heading = /^# +(.+?)(?: +#+)? *$/m.exec(document.body)?.[1];
  const name = path
    .split("/")
    .at(-1)
    ?.replace(/\.\w+$/, "");
  return readFront(document, path).title || heading || name || path;
}

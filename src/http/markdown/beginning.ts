/** Texts that are longer are first sent as their beginning. */
const longText = 48 * 1024;
const [least, most] = [8 * 1024, 24 * 1024];

/**
 * The beginning of a long text, up to a heading or else an empty line, and never inside a fence; undefined for other
 * texts. It is what a reader sees first, while the whole text is rendered.
 */
export function beginningOf(text: string): string | undefined {
  if (text.length <= longText) return undefined;
  let [heading, paragraph] = [0, 0];
  let fence: string | undefined;
  for (let at = 0; at < most; ) {
    const end = text.indexOf("\n", at);
    if (end < 0 || end >= most) break;
    const line = text.slice(at, end);
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence)))
      fence = fence === undefined ? mark : undefined;
    if (fence === undefined) {
      if (/^#{1,6} /.test(line)) heading = at;
      else if (line.trim() === "") paragraph = end + 1;
    }
    at = end + 1;
  }
  const cut = heading >= least ? heading : paragraph;
  return cut >= least ? text.slice(0, cut) : undefined;
}

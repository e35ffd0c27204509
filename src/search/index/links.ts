const most = 50;

/**
 * What a passage points to, as ids that may or may not exist: `[[id]]`, `[[id|text]]`, `[[id#heading]]`
 * are entries, `[[source:path#L12]]` a line of a source; a markdown link with a relative path is the entry of that name, or a source.
 */
export function linksIn(text: string): string[] {
  const found = new Set<string>();
  for (const [, target, line] of text.matchAll(/\[\[([^[\]|#\n]{1,200})(#L\d{1,7})?(?:[#|][^[\]\n]{0,200})?\]\]/g)) {
    const id = target?.trim();
    if (id) found.add((id.includes(":") ? id : `entry:${id}`) + (line ?? ""));
  }
  for (const [, inside] of text.matchAll(/\]\(([^()\n]{1,300})\)/g)) {
    const target = /^<?([^\s>#]+)/.exec(inside ?? "")?.[1];
    if (!target || /^[a-z][a-z+.-]*:/i.test(target)) continue;
    const path = target.replace(/^(\.{0,2}\/)+/, "");
    const source = /^sources\/(.+)$/.exec(path)?.[1];
    if (source) found.add(`source:${source}`);
    else if (path.endsWith(".md")) found.add(`entry:${path.replace(/^wiki\//, "").slice(0, -3)}`);
  }
  return [...found].slice(0, most);
}

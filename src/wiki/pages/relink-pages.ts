import { ok, type Result } from "../../kernel/result.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import type { Author } from "../entry.ts";
import type { WikiApp } from "../wiki-app.ts";
import { relinkPage } from "./move.ts";
import { moveLinks } from "./move-links.ts";
import type { Page } from "./pages.ts";
import { branchReady, pageCommitted } from "./ready-for-commit.ts";

type Ids = { from: string; to: string };
type Left = { path: string; reason: string };

type Change = { page: Page; text: string; onHead: string };

const moveOf = ({ wiki }: WikiApp["config"], ids: Ids) => ({
  ...{ from: `${wiki}/${ids.from}.md`, to: `${wiki}/${ids.to}.md`, entry: ids },
});

/** What renaming an entry changes in pages that are not entries, and the pages that keep their links. */
export async function planRelinkedPages(
  app: WikiApp,
  paths: string[],
  ids: Ids,
): Promise<{ changes: Change[]; left: Left[] }> {
  const { sources } = app.config;
  const move = moveOf(app.config, ids);
  const ready = await branchReady(app, "change the links there");
  const left: Left[] = [];
  const changes: Change[] = [];
  for (const path of paths) {
    const page = await app.pages.read(path);
    if (!page.ok) continue;
    const moved = moveLinks(page.value.text, path, move);
    const isRecord = path.startsWith(`${sources}/`) || /^(runs|generated-agents)\//.test(path);
    const onHead: Result<string> = ready.ok
      ? await pageCommitted(app, path, Buffer.from(page.value.text), "change the link there")
      : ready;
    if (isRecord) left.push({ path, reason: "it is a record, which does not change" });
    else if (!moved || moved.links === 0)
      left.push({ path, reason: "the link is written in an unusual way; change it there" });
    else if (!onHead.ok) left.push({ path, reason: onHead.problem.message });
    else changes.push({ page: page.value, text: moved.text, onHead: onHead.value });
  }
  return { changes, left };
}

/** Makes these changes, in one commit of the branch. A page that cannot be written keeps its links and is listed. */
export async function relinkPages(
  app: WikiApp,
  paths: string[],
  ids: Ids,
  by: Author,
): Promise<{ relinked: string[]; left: Left[] }> {
  const move = moveOf(app.config, ids);
  const { changes, left } = await planRelinkedPages(app, paths, ids);
  if (changes.length === 0) return { relinked: [], left };
  const author = { ...by, group: app.newId("g") };
  const done = await app.publications.write(async (tx, stage): Promise<Result<null>> => {
    const at = app.now().toISOString();
    for (const { page } of changes) await advisoryLock(tx, app.db.engine, `page:${page.path}`);
    for (const change of changes) {
      const saved = await relinkPage(app, tx, stage, { ...change, author, at, move });
      if (!saved.ok) return saved;
    }
    return ok(null);
  });
  const changed = changes.map(({ page }) => page.path);
  if (done.ok) return { relinked: changed, left };
  return { relinked: [], left: [...left, ...changed.map((path) => ({ path, reason: done.problem.message }))] };
}

import { dirname, join } from "node:path";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { advisoryLock } from "../../store/advisory-lock.ts";
import { crashPoint } from "../../store/disk/crash.ts";
import { appendEvent } from "../../store/events.ts";
import { blobOf } from "../../store/git/blob.ts";
import { commitMessage, enqueue } from "../../store/git/history.ts";
import { checkText } from "../contract.ts";
import { type Author, identityOf } from "../entry.ts";
import type { WikiApp } from "../wiki-app.ts";
import { freePlace } from "./free-place.ts";
import { branchReady } from "./ready-for-commit.ts";

/** Writes a page that is not an entry, and commits it. Never overwrites a file. */
export async function createPage(
  app: WikiApp,
  wanted: { path: string; content: string },
  by: Author,
): Promise<Result<{ path: string; source_sha: string }>> {
  const place = await freePlace(app, wanted.path);
  if (!place.ok) return place;
  const path = place.value;
  const text = wanted.content.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  const sound = checkText(text);
  if (!sound.ok) return sound;
  if (/\p{Surrogate}/u.test(text))
    return refuse("invalid", "content: it contains an invalid character (a lone surrogate); send UTF-8");
  if (text.trim() === "") return refuse("invalid", "content: it is empty; write at least a heading");
  const ready = await branchReady(app, "create the page");
  if (!ready.ok) return ready;
  const bytes = Buffer.from(text.endsWith("\n") ? text : `${text}\n`);
  const blob = blobOf(bytes, await app.git.objectFormat());
  const { db, publications, recorder } = app;
  const done = await publications.write(async (tx, stage): Promise<Result<true>> => {
    const at = app.now().toISOString();
    await advisoryLock(tx, db.engine, `page:${path}`);
    const isTaken = (await publications.latest(path, tx))?.bytes !== undefined;
    if (isTaken) return refuse("conflict", `${path} was created meanwhile`, { reason: "exists" });
    await enqueue(tx, {
      path,
      blob,
      content: bytes,
      author: identityOf(by),
      message: commitMessage(`Create ${path}`, { Page: path }),
      at,
      file: stage(path, bytes, undefined),
    });
    const data = { path, source_sha: blob };
    await appendEvent(tx, { at, actor: by.name, kind: "page-created", subject: `page:${path}`, data });
    crashPoint("page-created");
    return ok(true);
  });
  if (!done.ok) return done;
  await publications.sweep(join(app.config.root, dirname(path)), { recursive: false });
  await recorder.drain(5000);
  return ok({ path, source_sha: blob });
}

import { ok, type Result, refuse } from "../kernel/result.ts";
import { passageOf } from "../trust/operations.ts";
import { passagesOf } from "../trust/passages.ts";
import type { ShownPassage } from "../trust/shown.ts";
import type { Page } from "../wiki/pages/pages.ts";
import type { ReviewApp } from "./review-app.ts";

export type Place = {
  subject: string;
  hash: string;
  page: Page;
  text: string;
  /** The offset of the passage in the page. */
  at: number;
  shown: ShownPassage;
};

/** The passage in the present text of its page, whose line ends are LF here. */
export async function placeOf(app: ReviewApp, path: string, passage: string): Promise<Result<Place>> {
  const found = await passageOf(app, path, passage);
  if (!found.ok) return found;
  const { subject, hash, shown } = found.value;
  const read = await app.pages.read(found.value.path);
  if (!read.ok) return read;
  const page = { ...read.value, text: read.value.text.replaceAll("\r\n", "\n") };
  const here = passagesOf(page.text).find((one) => one.hash === hash);
  const lines = page.text.split("\n");
  const start = lines.slice(0, (here?.line ?? 1) - 1).reduce((sum, line) => sum + line.length + 1, 0);
  const at = here ? page.text.indexOf(here.text, start) : -1;
  if (!here || at < 0) return refuse("conflict", `${page.path} changed while the passage was read; read it again`);
  return ok({ subject, hash, page, text: here.text, at, shown });
}

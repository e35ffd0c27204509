import { join } from "node:path";
import { watch } from "chokidar";
import { statOf } from "../../store/disk/disk.ts";
import { pathsWithOpenTopics } from "../../store/queries/topics.ts";
import type { ReviewApp } from "../review-app.ts";
import { refindTopics } from "./refind-topics.ts";

const restMs = 200;
const sweepMs = 30_000;

/**
 * While serving, updates the anchors of open topics when their pages change: by a commit to an entry, an
 * approval, an editor, a `git pull`. A sweep finds changes that the file system did not report.
 */
export function keepAnchors(app: ReviewApp): { stop(): Promise<void> } {
  const { config, log } = app;
  const fileOf = (path: string) => join(config.root, path);
  const seen = new Map<string, string>();
  let stopped = false;
  let again: NodeJS.Timeout | undefined;
  let working = Promise.resolve();

  const watcher = watch([], { ignoreInitial: true, awaitWriteFinish: { stabilityThreshold: 100, pollInterval: 50 } });
  watcher.on("all", () => soon());
  watcher.on("error", (error) => log.warn({ error: String(error) }, "watch-failed"));

  /** Debounces: changes come in bursts. */
  function soon(): void {
    if (stopped || again) return;
    again = setTimeout(() => {
      again = undefined;
      working = working.then(() => look());
    }, restMs);
  }

  async function look(all = false): Promise<void> {
    try {
      const paths = await pathsWithOpenTopics(app.db.read);
      for (const path of paths) {
        if (stopped) return;
        const stat = statOf(fileOf(path));
        // Without a file the page is in the database, and only reading it shows whether it changed.
        if (!all && stat !== "gone" && stat === seen.get(path)) continue;
        if (!seen.has(path)) watcher.add(fileOf(path));
        await refindTopics(app, path);
        seen.set(path, stat);
      }
      const open = new Set(paths);
      for (const path of [...seen.keys()].filter((known) => !open.has(known))) {
        watcher.unwatch(fileOf(path));
        seen.delete(path);
      }
    } catch (error) {
      log.warn({ error: String(error) }, "anchors-failed");
    }
  }

  const unsubscribe = app.db.onChange(soon);
  const timer = setInterval(() => {
    working = working.then(() => look(true));
  }, sweepMs).unref();
  soon();
  return {
    async stop() {
      stopped = true;
      unsubscribe();
      clearInterval(timer);
      clearTimeout(again);
      await watcher.close();
      await working;
    },
  };
}

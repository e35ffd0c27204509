import { join, relative, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { watch } from "chokidar";
import { isTemporary } from "../../store/disk/disk.ts";
import { findSection } from "../schema.ts";
import type { WikiApp } from "../wiki-app.ts";

const sweepMs = 30_000;
const schemaFile = "schema.yaml";

/**
 * While serving, makes a version of a person's edit of an entry's file or of schema.yaml as it happens (K13). A sweep over all files finds changes
 * from before the watch began and changes that the file system did not report.
 */
export async function watchEntries(app: WikiApp): Promise<{ stop(): Promise<void> }> {
  const { files, config, log } = app;
  const folder = join(config.root, config.wiki);
  const looking = new Map<string, { again: boolean }>();

  const watcher = watch(folder, { ignoreInitial: true, ignored: (path) => isTemporary(path) });
  watcher.on("all", (_event, path) => {
    const id = relative(folder, path).split(sep).join("/");
    if (id === schemaFile) void lookAtSchema();
    else if (files && id.endsWith(".md")) void look(id.slice(0, -3));
  });
  watcher.on("error", (error) => log.warn({ error: String(error) }, "watch-failed"));
  await new Promise<void>((ready) => watcher.once("ready", () => ready()));

  /** Reconciles an entry, and again if it changed in the meantime. */
  async function look(id: string): Promise<void> {
    const running = looking.get(id);
    if (running) {
      running.again = true;
      return;
    }
    const state = { again: true };
    looking.set(id, state);
    while (state.again) {
      state.again = false;
      await lookOnce(id);
    }
    looking.delete(id);
  }

  async function lookOnce(id: string): Promise<void> {
    try {
      const schema = await app.schema();
      if (schema.ok && findSection(schema.value, id)) await files?.reconcile(id);
    } catch (error) {
      log.warn({ entry: id, error: String(error) }, "entry-unreadable");
    }
  }

  /** Brings an edit into force, or finds out why it cannot be. */
  async function lookAtSchema(): Promise<void> {
    try {
      await app.schema();
      const warning = app.schemaWarning();
      if (warning) log.warn({ warning }, "schema-broken");
    } catch (error) {
      log.warn({ error: String(error) }, "schema-unreadable");
    }
  }

  async function sweep(): Promise<void> {
    await lookAtSchema();
    try {
      await files?.sweep();
      files?.trustIndex(true);
    } catch (error) {
      log.warn({ error: String(error) }, "sweep-failed");
    }
  }

  await sweep();
  const timer = setInterval(() => void sweep(), sweepMs).unref();
  return {
    async stop() {
      clearInterval(timer);
      files?.trustIndex(false);
      await watcher.close();
      while (looking.size > 0) await sleep(10);
    },
  };
}

import { setImmediate as immediate } from "node:timers/promises";
import type { App } from "../app.ts";

const restMs = 100;
const retryMs = 5000;

/** Behind every write: its history into git, its text into the search index, what only rows hold into a branch. */
export function keepRecording(app: App): { stop(): Promise<void> } {
  let stopped = false;
  let changed = true;
  let wake: () => void = () => undefined;
  const unsubscribe = app.db.onChange(() => {
    changed = true;
    wake();
  });

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (stopped || (changed && ms === retryMs)) wake();
    });

  async function keep(): Promise<void> {
    while (!stopped) {
      changed = false;
      try {
        await app.recorder.record();
        // Neither SQLite nor a promise gives way to others: without this a page waits for the whole index.
        while ((await app.search.catchUp()) > 0) await immediate();
        // A few texts at a time: neither history nor the index waits for a model.
        if ((await app.search.meaning.embedSome()) > 0) continue;
        while ((await app.mirror?.record())?.more) await immediate();
      } catch (error) {
        app.log.error({ error: String(error) }, "upkeep-failed");
      }
      await pause(retryMs);
      // Writes come in bursts: waiting a moment lets one git process take many versions.
      if (!stopped) await new Promise((resolve) => setTimeout(resolve, restMs));
    }
  }

  const running = keep();
  return {
    async stop() {
      stopped = true;
      unsubscribe();
      wake();
      await running;
    },
  };
}

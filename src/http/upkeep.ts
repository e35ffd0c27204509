import { setImmediate as immediate } from "node:timers/promises";
import type { App } from "../app.ts";
import { sealEvents } from "../store/event-chain.ts";
import { watchChanges } from "../store/wait-for-change.ts";

const burstMs = 100;
const retryMs = 5000;
/** Cited files are read for it. */
const betweenLooksMs = 2000;

/** After every write, seals the event, records history in git, indexes texts, follows their trust and mirrors rows to a branch. */
export function startUpkeep(app: App): { stop(): Promise<void> } {
  let stopped = false;
  let nextLook = 0;
  const changes = watchChanges(app.db);

  async function run(): Promise<void> {
    // Files may have changed while nobody served them; the first search need not wait for them.
    await app.search.refresh().catch((error) => app.log.error({ error: String(error) }, "refresh-failed"));
    while (!stopped) {
      const seen = changes.count();
      try {
        await sealEvents(app.db);
        await app.recorder.record();
        // Indexing never waits for I/O; without this, requests would wait until all is indexed.
        while ((await app.search.catchUp()) > 0) await immediate();
        await app.trust.catchUp();
        // One batch, then history and the index again: they must not wait for the model.
        if ((await app.search.meaning.embedSome()) > 0) continue;
        while ((await app.mirror?.record())?.more) await immediate();
        if (performance.now() > nextLook) {
          await app.trust.refresh();
          nextLook = performance.now() + betweenLooksMs;
        }
      } catch (error) {
        app.log.error({ error: String(error) }, "upkeep-failed");
      }
      await changes.after(seen, retryMs);
      // Writes come in bursts: after a pause, one git process records many versions.
      if (!stopped) await new Promise((resolve) => setTimeout(resolve, burstMs));
    }
  }

  const running = run();
  return {
    async stop() {
      stopped = true;
      changes.close();
      await running;
    },
  };
}

import { setImmediate as immediate, setTimeout as sleep } from "node:timers/promises";
import type { App } from "../app.ts";
import { applyPolicy } from "../doctor/retention.ts";
import { sealEvents } from "../store/event-chain.ts";
import { watchChanges } from "../store/wait-for-change.ts";

const burstMs = 100;
const retryMs = 5000;
/** After an import there is more; between two of these the server can be stopped. */
const trustMs = 1000;
/** Cited files are read for it. */
const betweenLooksMs = 2000;
/** Passages are compared in parts: recording in git does not wait for all of a large wiki. */
const longestCompareMs = 300;
/** Git's maintenance may take longer, and goes on by itself. */
const stopMs = 2000;
const retentionMs = 60 * 60_000;

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
        while ((await app.search.catchUp()) > 0 && !stopped) await immediate();
        while (!stopped && !(await app.trust.catchUp(trustMs)));
        // One batch, then history and the index again: they must not wait for the model.
        if ((await app.search.meaning.embedSome()) > 0) continue;
        // A backlog of many versions takes minutes; the next server continues where this one stops.
        while (!stopped && (await app.mirror?.record())?.more) await immediate();
        if (performance.now() > nextLook) {
          await app.trust.refresh(longestCompareMs);
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

  /** Beside the rest: archives and git's maintenance take minutes, and nothing waits for them. */
  let cleaning: Promise<unknown> = Promise.resolve();
  const clean = () => {
    cleaning = applyPolicy(app, { dryRun: false, isStopped: () => stopped }).catch((error: unknown) =>
      app.log.error({ error: String(error) }, "retention-failed"),
    );
  };
  const timer = setInterval(clean, retentionMs);
  timer.unref();
  clean();

  const running = run();
  return {
    async stop() {
      stopped = true;
      changes.close();
      clearInterval(timer);
      await running;
      await Promise.race([cleaning, sleep(stopMs, undefined, { ref: false })]);
    },
  };
}

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { App } from "../../src/app.ts";
import { startUpkeep } from "../../src/http/upkeep.ts";
import { unwrap } from "../../src/kernel/result.ts";
import { historyRef } from "../../src/store/git/history-ref.ts";
import { percentile } from "../support/measure.ts";
import type { Place } from "../support/place.ts";
import { atMost, holds, type Table } from "../support/table.ts";
import { numbered, proseWriter } from "../support/text.ts";
import { agent, newWorkspace, outOfOrder, recordedIn, type Workspace } from "../support/workspace.ts";

const entryCount = 1000;
const burst = 1000;
const writers = 16;
const steadySeconds = 10;
const perSecond = 50;

/** How far git is behind what was acknowledged, in a process that serves. */
export async function historyLag(place: Place): Promise<Table[]> {
  const prose = proseWriter(5);
  const ids = numbered(entryCount, 50);
  const workspace = await newWorkspace(place, { entries: new Map(ids.map((id) => [id, prose(2048)])) });
  const app = await workspace.open();
  place.onLeave(() => app.close().catch(() => undefined));
  while ((await app.search.catchUp()) > 0);
  const upkeep = startUpkeep(app);
  place.onLeave(() => upkeep.stop());
  const commit = committer(app, ids, () => prose(2048));
  const tips = watchTip(workspace);

  let next = 0;
  const began = performance.now();
  const writer = async () => {
    while (next < burst) await commit(next++);
  };
  await Promise.all(Array.from({ length: writers }, writer));
  const acknowledged = performance.now();
  await everythingRecorded(app);
  const burstLag = performance.now() - acknowledged;

  await steadily((n) => commit(burst + n));
  await everythingRecorded(app);
  tips.stop();

  const lags = await lagsOf(workspace, tips.seen, commit.acknowledgedAt);
  const inBurst = lags.filter(({ n }) => n < burst).map(({ ms }) => ms);
  const steady = lags.filter(({ n }) => n >= burst).map(({ ms }) => ms);
  const recorded = await recordedIn(workspace);
  const wrong = outOfOrder(recorded, 1);
  const expected = burst + steadySeconds * perSecond;
  return [
    {
      question: `History: how far git is behind the acknowledgements (${entryCount} entries, serving)`,
      rows: [
        {
          what: `a burst of ${burst} commits by ${writers} writers`,
          figures: {
            "took ms": acknowledged - began,
            "behind P50 ms": percentile(inBurst, 0.5),
            "largest ms": Math.max(...inBurst),
          },
          target: atMost(1000, Math.max(...inBurst), "ms behind"),
        },
        {
          what: "from its last acknowledgement until git has all",
          figures: { "largest ms": burstLag },
          target: atMost(1000, burstLag, "ms"),
        },
        {
          what: `steadily ${perSecond} commits/s for ${steadySeconds} s`,
          figures: {
            "took ms": steadySeconds * 1000,
            "behind P50 ms": percentile(steady, 0.5),
            "largest ms": Math.max(...steady),
          },
          target: atMost(1000, Math.max(...steady), "ms behind"),
        },
        {
          what: "versions in git, each one more than the last",
          figures: {},
          target: holds(
            `all in order: ${recorded.length} of ${expected}, ${wrong} out of order`,
            recorded.length === expected && wrong === 0,
          ),
        },
      ],
    },
  ];
}

function committer(app: App, ids: string[], body: () => string) {
  const knowledge = app.knowledge(agent());
  const versions = new Map<string, number>();
  /** By entry and version: which commit it was, and when it was acknowledged. */
  const acknowledgedAt = new Map<string, { n: number; at: number }>();
  const commit = async (n: number) => {
    const id = ids[n % ids.length] as string;
    const { version } = unwrap(await knowledge.commitEntry(id, `${n}\n${body()}`, versions.get(id) ?? 1));
    versions.set(id, version);
    acknowledgedAt.set(`${id} ${version}`, { n, at: Date.now() });
  };
  return Object.assign(commit, { acknowledgedAt });
}

async function steadily(commit: (n: number) => Promise<void>): Promise<void> {
  const began = Date.now();
  const running: Promise<void>[] = [];
  for (let n = 0; n < steadySeconds * perSecond; n++) {
    await sleep(Math.max(0, began + (n * 1000) / perSecond - Date.now()));
    running.push(commit(n));
  }
  await Promise.all(running);
}

async function everythingRecorded(app: App): Promise<void> {
  const waiting = () =>
    app.db.read.selectFrom("git_queue").select("seq").where("in_history", "=", 0).executeTakeFirst();
  while (await waiting()) await sleep(10);
}

type Tip = { commit: string; at: number };

/** Each tip that the history ref had, and when its file was written. */
function watchTip({ root }: Workspace): { seen: Tip[]; stop(): void } {
  const file = join(root, ".git", historyRef);
  const seen: Tip[] = [];
  const look = () => {
    try {
      const commit = readFileSync(file, "utf8").trim();
      if (commit !== seen.at(-1)?.commit) seen.push({ commit, at: statSync(file).mtimeMs });
    } catch (error) {
      // Git renames a new file over the old one; there may be none before the first record.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  };
  look();
  const timer = setInterval(look, 10);
  return {
    seen,
    stop() {
      clearInterval(timer);
      look();
    },
  };
}

async function lagsOf(workspace: Workspace, tips: Tip[], acknowledged: Map<string, { n: number; at: number }>) {
  const lags: { n: number; ms: number }[] = [];
  for (const [index, tip] of tips.entries()) {
    const before = tips[index - 1];
    if (!before) continue;
    for (const { entry, version } of await recordedIn(workspace, `${before.commit}..${tip.commit}`)) {
      const known = acknowledged.get(`${entry} ${version}`);
      if (known) lags.push({ n: known.n, ms: Math.max(0, tip.at - known.at) });
    }
  }
  return lags;
}

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { refuse, unwrap } from "../src/kernel/result.ts";
import { approveProposal, showProposal } from "../src/review/proposals/operations.ts";
import { proposePage } from "../src/review/proposals/propose.ts";
import { appendEvent } from "../src/store/events.ts";
import { blobOf } from "../src/store/git/blob.ts";
import { entryBlame } from "../src/wiki/merge/blame.ts";
import { entryHistory } from "../src/wiki/operations.ts";
import { rowStore } from "../src/wiki/stores/rows.ts";
import { backends, engines, gitIn, newWorkspace, person } from "./support/workspace.ts";

const chapters = Array.from(
  { length: 60 },
  (_, n) => `# Chapter ${n}\n\n${Array.from({ length: 20 }, (_, k) => `Line ${k} of chapter ${n}.\n`).join("")}`,
);
const long = chapters.join("\n");
const ada = { name: "Ada Lovelace" };

/** The computations that threads have finished since the last call. */
function finishedBy({ threads }: App): () => number {
  let before = threads.counts().done;
  return () => {
    const now = threads.counts().done;
    const since = now - before;
    before = now;
    return since;
  };
}

describe.each(backends)("V5: an entry with a long text, in $store on $engine", (backend) => {
  test("V5: stale commits, diffs and blame are computed in threads, and short texts are not sent there", async () => {
    const { app } = await newWorkspace(backend);
    const { version: first } = await app.entries.fetch("vision");
    const commit = (text: string, version: number) => app.entries.commit("vision", text, first + version, ada);
    const finished = finishedBy(app);
    const theirs = long.replace("Line 3 of chapter 7.", "Their line.");
    const yours = long.replace("Line 3 of chapter 50.", "Your line.");
    unwrap(await commit(long, 0));
    unwrap(await commit(theirs, 1));
    expect(await commit(yours, 1)).toMatchObject({
      problem: { code: "conflict", details: { merged: theirs.replace("Line 3 of chapter 50.", "Your line.") } },
    });
    expect(finished()).toBe(1);

    const { versions } = unwrap(await entryHistory.perform(app, { id: "vision", diff: true, limit: 2 }, person()));
    expect(versions.map(({ diff }) => diff?.includes("+Their line."))).toEqual([true, false]);
    expect(finished()).toBe(2);

    const { lines } = unwrap(await entryBlame.perform(app, { id: "vision" }, person()));
    expect(lines.filter(({ version }) => version === first + 2).map(({ text }) => text)).toEqual(["Their line."]);
    expect(finished()).toBe(2);

    unwrap(await commit("# Short\n", 2));
    unwrap(await commit("# Short\n\n## One\n", 3));
    expect(await commit("# Short\n\n## Two\n", 3)).toMatchObject({ problem: { code: "conflict" } });
    expect(finished()).toBe(0);
  });
});

test("V5: a stale commit whose merge takes too long is a conflict that says so", async () => {
  const { app } = await newWorkspace({ store: "database" });
  const slow = { ...app.threads, run: async () => refuse("refused", "merging the two changes takes too long") };
  const sections = async () => unwrap(await app.schema()).sections;
  const store = rowStore({ db: app.db, sections, wiki: "wiki", sources: "sources", threads: slow, now: app.now });
  unwrap(await store.commit("vision", "# One\n", 0, ada));
  unwrap(await store.commit("vision", "# One\n\nTheirs.\n", 1, ada));
  const stale = await store.commit("vision", "# One\n\nYours.\n", 1, ada);
  expect(stale).toMatchObject({
    problem: { code: "conflict", details: { latestVersion: 2, yours: "# One\n\nYours.\n" } },
  });
  expect(stale).toMatchObject({ problem: { message: expect.stringContaining("takes too long: merge yours into") } });
});

test("V5: the approval of a long page that has changed since merges in a thread", async () => {
  const { app, root } = await newWorkspace({ files: { "docs/long.md": long } });
  const topic = { id: "t-1", path: "docs/long.md", kind: "change", status: "open" };
  const text = long.replace("Line 3 of chapter 50.", "The proposed line.");
  const { id } = unwrap(await proposePage(app, topic, { baseSha: blobOf(long), text }, person()));
  const present = long.replace("Line 3 of chapter 7.", "The present line.");
  writeFileSync(join(root, "docs/long.md"), present);
  await gitIn(root)("commit", "-qam", "Change a line");
  const finished = finishedBy(app);
  expect(unwrap(await showProposal.perform(app, { id }, person())).impact?.merge?.clean).toBe(true);
  expect(finished()).toBe(1);
  unwrap(await approveProposal.perform(app, { id, merge: true }, person()));
  expect(finished()).toBe(1);
  const page = unwrap(await app.pages.read("docs/long.md"));
  expect(page.text).toBe(present.replace("Line 3 of chapter 50.", "The proposed line."));
});

test.each(engines)(
  "V5: other requests get their turn during a transaction of many statements, on %s",
  async (engine) => {
    const { app } = await newWorkspace({ engine });
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await app.db.write(async (tx) => {
      const event = { at: "2026-01-01T00:00:00.000Z", actor: "test", kind: "task-edited" as const, data: {} };
      const until = performance.now() + 300;
      for (let n = 0; n < 5_000 || performance.now() < until; n++)
        await appendEvent(tx, { ...event, subject: `task:${n}` });
    });
    isOver = true;
    expect(turns).toBeGreaterThan(2);
  },
);

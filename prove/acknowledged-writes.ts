import { setTimeout as sleep } from "node:timers/promises";
import { answerOf, checkIntact, ended, inCopy, newWorkspace, succeed, versionFormat } from "./support/commands.ts";
import { type Server, startServer } from "./support/mcp.ts";
import type { Context, Proof } from "./support/proof.ts";

export const proof: Proof = {
  promise: "An acknowledged write survives `kill -9`: it is present exactly once, and `git fsck` is clean",
  async run(context) {
    const base = await newWorkspace(context);
    const totals = { acknowledged: 0, kills: 0 };
    for (let round = 1; Date.now() < context.until; round++) {
      const writes: Write[] = [];
      await inCopy(context, base, async (root) => {
        for (const wave of [1, 2]) totals.kills += await killWriters(context, root, `${round}-${wave}`, writes);
        await checkIntact(context, root, `round ${round}`);
        await checkLines(context, root, round, writes);
        await checkVersions(context, root, round, writes);
      });
      totals.acknowledged += writes.filter(({ version }) => version !== undefined).length;
      context.note(`${totals.acknowledged} acknowledged writes, ${totals.kills} kills`);
    }
  },
};

/** `version` is set when the write was acknowledged. `mark` occurs in its text and in no other. */
type Write = { entry: string; mark: string; version?: number };

const log = "decisions";

/** Two servers and three commands write at the same time, and each is killed at a random instant. */
async function killWriters(context: Context, root: string, wave: string, writes: Write[]): Promise<number> {
  const [vision, requirements] = await Promise.all(
    ["vision", "requirements"].map((id) => versionOf(context, root, id)),
  );
  const [appender, committer] = await Promise.all(
    ["engineer", "planner"].map((role) => startServer(context, root, role)),
  );
  if (!appender || !committer) return 0;
  const kills = await Promise.all([
    ...[0, 1, 2].map((lane) => appendUntilKilled(appender, `s${wave}-${lane}`, writes)),
    commitUntilKilled(committer, vision ?? 0, `v${wave}`, writes),
    killLater(context, appender),
    killLater(context, committer),
    ...[0, 1].map((n) => {
      const mark = `c${wave}-${n}.`;
      const args = ["append-log", "--role", "engineer", "--id", log, "--line", mark];
      return killCommand(context, root, args, "", { entry: log, mark }, writes);
    }),
    killCommand(
      context,
      root,
      ["commit-entry", "--role", "planner", "--id", "requirements", "--version", String(requirements)],
      `r${wave}.\n`,
      { entry: "requirements", mark: `r${wave}.` },
      writes,
    ),
  ]);
  return kills.reduce((sum, killed) => sum + killed, 0);
}

async function killLater(context: Context, server: Server): Promise<number> {
  await sleep(context.random() * 1500);
  await server.kill();
  return 1;
}

async function appendUntilKilled(server: Server, lane: string, writes: Write[]): Promise<number> {
  for (let n = 1; ; n++) {
    const write: Write = { entry: log, mark: `${lane}-${n}.` };
    writes.push(write);
    const answer = await server.call("append_log", { id: log, line: write.mark });
    if (answer?.status !== "success") return 0;
    write.version = Number(answer.version);
  }
}

async function commitUntilKilled(server: Server, from: number, wave: string, writes: Write[]): Promise<number> {
  for (let version = from; ; version++) {
    const write: Write = { entry: "vision", mark: `${wave}-${version}.` };
    writes.push(write);
    const answer = await server.call("commit_entry", { id: "vision", content: `${write.mark}\n`, version });
    if (answer?.status !== "success") return 0;
    write.version = Number(answer.version);
  }
}

/** Starting takes most of a command's time, so most kills come before the write and some after it. */
async function killCommand(
  context: Context,
  root: string,
  args: string[],
  input: string,
  write: Write,
  writes: Write[],
): Promise<number> {
  writes.push(write);
  const child = context.start("scribe", args, { cwd: root });
  const timer = setTimeout(() => child.kill("SIGKILL"), 200 + context.random() * 2500);
  const { signal, stdout } = await ended(child, input);
  clearTimeout(timer);
  const answer = answerOf(stdout);
  if (answer?.status === "success") write.version = Number(answer.version);
  return signal === "SIGKILL" ? 1 : 0;
}

async function versionOf(context: Context, root: string, id: string): Promise<number> {
  return JSON.parse(await succeed(context, "scriptorium", ["entry", "read", id, "--json"], { cwd: root })).version;
}

async function checkLines(context: Context, root: string, round: number, writes: Write[]): Promise<void> {
  const text = await succeed(context, "scriptorium", ["entry", "read", log, "--json"], { cwd: root });
  const lines: string[] = JSON.parse(text).content.split("\n");
  for (const { mark, version } of writes.filter(({ entry }) => entry === log)) {
    const count = lines.filter((line) => line.endsWith(` ${mark}`)).length;
    const said = version === undefined ? "unacknowledged" : "acknowledged";
    context.check(count === 1 || (count === 0 && version === undefined), `round ${round}: ${said} ${mark} ×${count}`);
  }
}

/**
 * Git has one commit for each acknowledged version, and that commit added the acknowledged text. Git may lag
 * behind an acknowledgement, so this first waits until doctor reports that no version is queued.
 */
async function checkVersions(context: Context, root: string, round: number, writes: Write[]): Promise<void> {
  const history = await recordedHistory(context, root);
  context.check(history === "every version is in git", `round ${round}: doctor: ${history}`);
  if (history !== "every version is in git") return;
  const format = `--format=%x01${versionFormat}`;
  const log = await succeed(context, "git", ["log", "-p", format, "refs/scriptorium/history"], { cwd: root });
  const commits = log.split("\u0001");
  for (const { entry, mark, version } of writes) {
    if (version === undefined) continue;
    const found = commits.filter((commit) => commit.startsWith(`${entry} ${version}\n`));
    const added = found[0]?.split("\n").some((line) => line.startsWith("+") && line.endsWith(mark)) ?? false;
    context.check(
      found.length === 1 && added,
      `round ${round}: ${entry} version ${version}: ${found.length} commits, ${mark} ${added ? "added" : "missing"}`,
    );
  }
}

/** What doctor reports about git history, after up to five openings that each record what is queued. */
async function recordedHistory(context: Context, root: string): Promise<string> {
  let message = "";
  for (let n = 1; n <= 5 && message !== "every version is in git"; n++) {
    const answer = JSON.parse(await succeed(context, "scriptorium", ["doctor", "--json"], { cwd: root }));
    message = answer.findings.find(({ check }: { check: string }) => check === "history")?.message ?? "no finding";
  }
  return message;
}

import { appendFileSync, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scribe, scribeProcess, scriptorium } from "./support/commands.ts";
import { skipNow } from "./support/programs.ts";
import { type Layout, layouts, put, type Repository, repositoryOf } from "./support/repositories.ts";

const better = "# Guide\n\nbetter\n\nsecond\n";
/** The steps of a write at which a process dies. */
const deaths = ["file-renamed", "version-committed", "history-moved", "branch-moved"];

/** The commands of a person and an agent in a workspace. */
function commandsIn({ root, env }: Repository) {
  const asPerson = async (...args: string[]) => {
    const ran = await scriptorium(args, { cwd: root, env });
    expect(ran, `${args.join(" ")}: ${ran.stderr}`).toMatchObject({ code: 0 });
    return ran;
  };
  const asAgent = async (input: string, ...args: string[]) => {
    const ran = await scribe(args, { cwd: root, env, input });
    expect(ran, `${args.join(" ")}: ${ran.stderr}${ran.stdout}`).toMatchObject({ code: 0, stderr: "" });
    return ran;
  };
  return {
    asPerson,
    asAgent,
    doctor: async () => (await scriptorium(["doctor", "--json"], { cwd: root, env })).json<Diagnosis>().findings,
    crash: (point: string, line: string) =>
      scribeProcess(["append-log", "--id", "decisions", "--line", line], {
        cwd: root,
        env: { ...env, SCRIPTORIUM_CRASH_AT: point },
      }),
    async propose(path: string, content: string): Promise<string> {
      const topic = (await asPerson("topic", "open", path, "--message", "Say it better", "--json")).json<{
        id: string;
      }>();
      const shown = (await asAgent("", "get-topic", "--id", topic.id)).json<{ source_sha: string }>();
      const made = await asAgent(content, "insert-proposal", "--topic-id", topic.id, "--base-sha", shown.source_sha);
      return made.json<{ id: string }>().id;
    },
  };
}

type Diagnosis = { findings: { state: string; name: string; message: string }[] };

const textAt = ({ git }: Repository, path: string) => git("cat-file", "--filters", `HEAD:./${path}`);
const normal = (text: string) => text.replaceAll("\r\n", "\n").trim();

describe("V2, V11, N2: the repository matrix", () => {
  test.each(layouts)("V2, V11, N2: $name", async (layout: Layout) => {
    if (layout.needs && !layout.needs()) return skipNow(`this machine cannot make the layout: ${layout.name}`);
    const repository = repositoryOf(layout);
    const { root, git } = repository;
    const { asPerson, asAgent, doctor, crash, propose } = commandsIn(repository);

    const init = await asPerson("init", "--yes", "--connect", "none");
    if (layout.says) expect(init.stdout).toMatch(layout.says);
    appendFileSync(join(root, "scriptorium.yaml"), "agent: {author_name: Scribe, author_email: scribe@example.org}\n");
    git("add", "-A");
    git("commit", "-qm", "Name the author of agents' texts");
    layout.enter?.(repository);
    const before = git("status", "--porcelain", "--ignored=no");

    // Commit, append, and a crash at each step, with a start that recovers.
    await asAgent("# Status\n\nhalf done\n", "commit-entry", "--id", "status", "--version", "1", "--run", "run-1");
    await asAgent("", "append-log", "--id", "decisions", "--line", "chose SQLite");
    for (const point of deaths) {
      const ran = await crash(point, `died at ${point}`);
      if (layout.waits && point === "branch-moved") expect(ran.code).toBe(0);
      else expect(ran).toMatchObject({ signal: "SIGKILL" });
      await asPerson("entry", "list");
    }
    const waiting = await doctor();
    expect(waiting.filter(({ state }) => state === "problem")).toEqual([]);
    if (layout.says) expect(waiting.map(({ message }) => message).join("\n")).toMatch(layout.says);
    if (layout.waits) {
      expect(waiting.map(({ message }) => message).join("\n")).toMatch(layout.waits);
      const id = await propose("docs/guide.md", better);
      const refused = await scriptorium(["proposal", "approve", id], { cwd: root, env: repository.env });
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toMatch(layout.waits);
      expect(normal(readFileSync(join(root, "docs/guide.md"), "utf8"))).not.toContain("better");
    }

    // A page is approved, and a run reverted.
    layout.leave?.(repository);
    const id = await propose("docs/guide.md", better);
    const modes = ["docs/guide.md", "wiki/status.md"].map((path) => statSync(join(root, path)).mode);
    await asPerson("proposal", "approve", id);
    expect(normal(textAt(repository, "docs/guide.md"))).toBe(normal(better));
    await asPerson("revert", "--run", "run-1", "--confirm");
    await asAgent("# Status\n\nall done\n", "commit-entry", "--id", "status", "--version", "3");
    expect((await doctor()).filter(({ state }) => state === "problem")).toEqual([]);
    expect(["docs/guide.md", "wiki/status.md"].map((path) => statSync(join(root, path)).mode)).toEqual(modes);

    // Nothing is left to commit, and the person's next commit keeps everything.
    if (layout.waits === undefined) expect(before).toBe("");
    expect(git("status", "--porcelain")).toBe("");
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
    put(root, { "src/code.txt": "changed by the person\n" });
    git("commit", "-qam", "Change code");
    const decisions = textAt(repository, "wiki/decisions.md");
    for (const line of ["chose SQLite", ...deaths.map((point) => `died at ${point}`)])
      expect(decisions).toContain(line);
    expect(textAt(repository, "wiki/status.md")).toContain("all done");
    expect(normal(textAt(repository, "docs/guide.md"))).toBe(normal(better));
    expect(git("status", "--porcelain")).toBe("");
    const history = await asPerson("entry", "history", "status", "--json");
    expect(history.json<unknown[]>()).toHaveLength(4);
    expect(existsSync(join(root, ".scriptorium/scriptorium.db"))).toBe(true);
  });
});

import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium } from "./support/commands.ts";
import { executed, newRun, type Play, passes, planned, playing, seenBy, verdictOf } from "./support/crew.ts";
import { agent, newWorkspace, person, sampledEngines } from "./support/workspace.ts";

const config = "crew: { sandbox: none, reports: facts }\n";
const long = Array.from({ length: 30 }, (_, at) => `line ${at + 1} of a file that stays as it is`).join("\n");
const files = { "old.txt": `${long}\n`, "gone.txt": "gone\n" };

const worker: Play = async ({ number, retry, use }) => {
  if (number === "1.1") {
    await use("write_file", {
      path: "out/sum.ts",
      content: retry ? "export const sum = 3;\n" : "export const sum = 2;\n",
    });
    const make =
      "mv old.txt new.txt; rm -f gone.txt; head -c 3000 /dev/zero > out/zero.bin; yes | head -c 500000 > out/big.txt";
    if (!retry) await use("run_command", { run: ["sh", "-c", make] });
  }
  if (number === "1.2") await use("write_file", { path: "out/other.txt", content: "other\n" });
  await use("submit_output", { output: `made ${number}\nand said so` });
  return undefined;
};

/** Rejects the first attempt of 1.1 with evidence of its file. */
function crew() {
  let rejections = 0;
  const qc: Play = async (scene) => {
    if (scene.number !== "1.1" || rejections++ > 0) return passes(scene);
    const evidence = [
      { criterion: 1, met: false, absent: false, quote: "const sum = 2", from: "file", ref: "out/sum.ts", lines: "1" },
    ];
    await scene.use("submit_verdict", verdictOf(false, { evidence }));
    return undefined;
  };
  return playing({ worker, qc });
}

const diff = async (app: App, id: string, more: object = {}) =>
  unwrap(await operations.attempt_diff.perform(app, { id, ...more }, person()));
const idOf = async (app: App, run: string, number: string) =>
  (await app.runs.tasks(run)).find((task) => task.number === number)?.task_id ?? "";

describe.each(sampledEngines)("W7: the files of attempts, on %s", (engine) => {
  test("W7: an attempt shows what it changed, before and after it is accepted, and how it differs from another one", async () => {
    const { app, root } = await newWorkspace({ engine, config, files });
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2", { depends_on: ["1.1"] })]);
    expect(await executed(app, run, crew(), { workers: 1 })).toMatchObject({ state: "completed" });
    const id = await idOf(app, run, "1.1");

    const first = await diff(app, id, { attempt: "1" });
    const byPath = Object.fromEntries(first.files.map((file) => [file.path, file]));
    expect(byPath["out/sum.ts"]).toMatchObject({ status: "added", added: 1, removed: 0, omitted: null });
    expect(byPath["out/sum.ts"]?.hunks[0]?.lines).toEqual(["+export const sum = 2;"]);
    expect(byPath["new.txt"]).toMatchObject({ status: "renamed", old_path: "old.txt", hunks: [], omitted: null });
    expect(byPath["gone.txt"]).toMatchObject({ status: "deleted", removed: 1 });
    expect(byPath["out/zero.bin"]).toMatchObject({ status: "added", omitted: "binary", hunks: [] });
    expect(byPath["out/big.txt"]).toMatchObject({ status: "added", omitted: "large", hunks: [] });

    // The accepted attempt is part of the accepted work now; its change is still that of the task alone.
    const last = await diff(app, id);
    expect(last).toMatchObject({ attempt: { attempt: 2 }, against: null, more_files: 0 });
    expect(last.files.map(({ path }) => path).sort()).toEqual([
      ...["gone.txt", "new.txt", "out/big.txt", "out/sum.ts", "out/zero.bin"],
    ]);
    expect((await diff(app, await idOf(app, run, "1.2"))).files.map(({ path }) => path)).toEqual(["out/other.txt"]);

    const between = await diff(app, id, { attempt: "2", against: "1" });
    expect(between.files).toMatchObject([{ path: "out/sum.ts", status: "changed", added: 1, removed: 1 }]);
    const shown = await scriptorium(["task", "diff", id, "--attempt", "2", "--against", "1"], { cwd: root });
    expect(shown.stdout).toContain("+export const sum = 3;");

    unwrap(await operations.rerun_run.perform(app, { id: run, from: "1.1", confirm: true }, person()));
    expect((await diff(app, id, { attempt: `1-${first.attempt.epoch}` })).files).toEqual(first.files);
  });

  test("W7: a task without attempts, an unknown attempt and a text say so, and agents cannot ask", async () => {
    const { app } = await newWorkspace({ engine, config, files });
    const run = await newRun(app, [planned("0"), planned("1.1")]);
    const id = await idOf(app, run, "0");
    const ask = (input: object, caller = person()) => operations.attempt_diff.perform(app, { id, ...input }, caller);
    const refused = (message: string) => ({
      ok: false,
      problem: { code: "not_found", message: expect.stringContaining(message) },
    });
    expect(await ask({})).toMatchObject(refused("has no attempt yet"));
    expect(await operations.attempt_diff.perform(app, { id: "task-0" }, person())).toMatchObject(refused("task-0"));
    await executed(app, run, playing({ worker, qc: passes }));
    expect(await ask({ attempt: "9" })).toMatchObject(refused("has no attempt 9; it has 1-"));
    expect(await ask({})).toMatchObject(refused("delivered no files"));
    expect(await ask({ attempt: "one" })).toMatchObject({ ok: false, problem: { code: "invalid" } });
    expect(await ask({}, agent("engineer"))).toMatchObject({ ok: false, problem: { code: "denied" } });
  });

  test("O8: each citation of a verdict resolves to its lines, whether of a file, a tool's answer, a check or the output", async () => {
    const { app } = await newWorkspace({ engine, config, files });
    const check = { run: ["sh", "-c", "echo all is well"], exits: 0 };
    const verification = [{ criterion: "it runs", check }, { criterion: "it is made" }];
    const run = await newRun(app, [planned("0"), planned("1.1"), planned("1.2", { verification })]);
    const crewOfFirst = crew();
    const qc: Play = async (scene) => {
      if (scene.number !== "1.2") return undefined;
      const evidence = [
        { criterion: 1, met: true, quote: "all is well", from: "check", ref: "1" },
        ...(await seenBy(scene, [2])),
      ];
      await scene.use("submit_verdict", verdictOf(true, { evidence }));
      return undefined;
    };
    const isSecond = (prompt: string) => prompt.includes("Verify task 1.2");
    const second = playing({ worker, qc });
    await executed(app, run, (part, ...rest) => {
      const usual = unwrap(crewOfFirst(part, ...rest));
      const other = unwrap(second(part, ...rest));
      const runner = {
        ...usual.runner,
        run: ((spec, ...more) =>
          (isSecond(spec.prompt) ? other : usual).runner.run(spec, ...more)) as typeof usual.runner.run,
      };
      return { ok: true, value: { ...usual, runner } };
    });
    const cite = async (number: string, attempt: string, item: number) =>
      unwrap(
        await operations.show_citation.perform(app, { id: await idOf(app, run, number), attempt, item }, person()),
      );
    expect(await cite("1.1", "1", 1)).toMatchObject({
      ...{ place: "out/sum.ts:1", lines: ["export const sum = 2;"], cited: { from: 1, to: 1 }, note: null },
    });
    expect(await cite("0", "1", 1)).toMatchObject({ place: "output", cited: { from: 1, to: 1 } });
    const answer = await cite("1.1", "2", 1);
    expect(answer).toMatchObject({ place: "answer of show_diff", note: null });
    const { cited, first_line, lines } = answer;
    expect(lines[(cited?.from ?? 0) - first_line]).toMatch(/^\+/);
    const ran = await cite("1.2", "1", 1);
    expect(ran).toMatchObject({ place: "check of criterion 1", note: null });
    expect(ran.lines[(ran.cited?.from ?? 0) - ran.first_line]).toContain("all is well");
    expect(
      await operations.show_citation.perform(app, { id: await idOf(app, run, "0"), attempt: "1", item: 9 }, person()),
    ).toMatchObject({ ok: false, problem: { code: "not_found" } });
  });
});

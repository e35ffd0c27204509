import { mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium } from "./support/commands.ts";
import { agent, engines, newWorkspace, person } from "./support/workspace.ts";

describe.each(engines)("M14: the space that a workspace takes, on %s", (engine) => {
  test("M14: status --sizes has every table in a group, loose objects, what a killed git left, and logs", async () => {
    const { app, root, git } = await newWorkspace({ engine });
    const sizes = async () => unwrap(await operations.show_sizes.perform(app, {}, person()));
    const bytes = (parts: { name: string; bytes: number }[], name: string) =>
      parts.find((one) => one.name === name)?.bytes ?? 0;
    const before = await sizes();
    expect(before.database.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["events", "texts and versions", "search", "tasks and runs", "review"]),
    );
    for (let n = 0; n < 30; n++)
      unwrap(await app.knowledge(agent("engineer")).appendLog("decisions", "x".repeat(3000)));
    await app.recorder.record();
    mkdirSync(`${root}/.scriptorium/agent-logs`, { recursive: true });
    writeFileSync(`${root}/.scriptorium/agent-logs/a.log`, "y".repeat(50_000));
    writeFileSync(`${root}/.git/objects/pack/tmp_pack_killed`, "z".repeat(20_480));
    const after = await sizes();
    expect(bytes(after.database, "texts and versions")).toBeGreaterThan(bytes(before.database, "texts and versions"));
    expect(bytes(after.folders, "agent-logs")).toBe(50_000);
    expect(bytes(after.git, "garbage")).toBeGreaterThanOrEqual(20_480);
    expect(bytes(after.git, "loose")).toBeGreaterThan(0);
    git("gc", "-q", "--prune=now");
    expect(bytes((await sizes()).git, "packed")).toBeGreaterThan(0);

    const shown = await scriptorium(["status", "--sizes"], { cwd: root });
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringMatching(/^database: [\d.]+ [KM]iB\n {2}.* {2}\w/)]);
    expect(shown.stdout).toMatch(/ 49 KiB {2}agent-logs$/m);
  });
});

import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type App, openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operationNamed } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { scriptoriumProcess } from "./support/commands.ts";
import { thorough } from "./support/thorough.ts";
import {
  databaseForCopy,
  gitIn,
  newWorkspace,
  person,
  read,
  temporaryFolder,
  testEnvironment,
} from "./support/workspace.ts";

const perform = <N extends OperationName>(app: App, name: N, input: object) =>
  operationNamed(name).perform(app, input, person());
const ask = async <N extends OperationName>(app: App, name: N, input: object) =>
  unwrap(await perform(app, name, input));

const move = { path: "docs/deploy.md", new_path: "guides/ops/release.md" };
const files = {
  "docs/deploy.md":
    "# Deploy\n\nSee [the plan](plan.md#goal).\n\nPush the button, and wait until the lights are green.\n\nThen write down what happened, when, and who was there.\n",
  "docs/plan.md": "# Plan\n\nFirst [deploy](deploy.md#now), then rest.\n",
};

async function workspaceWithPages(engine: "sqlite" | "postgres") {
  const made = await newWorkspace({ engine, files });
  const { version } = await ask(made.app, "fetch_entry", { id: "vision" });
  await ask(made.app, "commit_entry", { id: "vision", content: "See [it](../docs/deploy.md).\n", version });
  await made.app.recorder.drain(10_000);
  return made;
}

describe.each(["sqlite", "postgres"] as const)("U11: a move that is killed at any step (%s)", (engine) => {
  test("U11: leaves the page in one place, with its links, and the next start finishes", async () => {
    const { app, root } = await workspaceWithPages(engine);
    await app.close();
    const template = /test_\w+/.exec(read(join(root, "scriptorium.yaml")))?.[0];
    const stride = thorough ? 1 : 4;
    const seen = new Set<string>();
    let survived = false;
    for (let step = 1; !survived; step += stride) {
      expect(step).toBeLessThan(80);
      const cwd = join(temporaryFolder(), "workspace");
      cpSync(root, cwd, { recursive: true });
      const env: Record<string, string> =
        template === undefined ? {} : { SCRIPTORIUM_DATABASE_URL: await databaseForCopy(template) };
      const ran = await scriptoriumProcess(["page", "move", move.path, move.new_path], {
        cwd,
        env: { ...env, SCRIPTORIUM_CRASH_AT: String(step) },
      });
      survived = ran.signal === null;
      if (survived) expect(ran).toMatchObject({ code: 0 });
      const after = await openApp(unwrap(loadConfig(cwd, { ...testEnvironment(), ...env })));
      try {
        await after.publications.finish();
        await after.recorder.drain(10_000);
        const isMoved = existsSync(join(cwd, move.new_path));
        seen.add(isMoved ? "moved" : "kept");
        expect(existsSync(join(cwd, move.path))).toBe(!isMoved);
        const target = isMoved ? "../guides/ops/release.md" : "deploy.md";
        expect(read(join(cwd, "docs/plan.md"))).toContain(`First [deploy](${target}#now)`);
        const { content } = await ask(after, "fetch_entry", { id: "vision" });
        expect(content).toContain(isMoved ? move.new_path : move.path);
        const git = gitIn(cwd);
        expect(git("status", "--porcelain")).toBe("");
        if (isMoved) expect(git("log", "-1", "--format=%s")).toBe(`Move ${move.path} to ${move.new_path}`);
        git("fsck", "--strict");
        const report = await ask(after, "doctor", {});
        expect(report.findings.filter(({ state }) => state === "problem")).toEqual([]);
        const again = await perform(after, "move_page", { ...move, confirm: true });
        expect(again.ok).toBe(!isMoved);
      } finally {
        await after.close();
      }
    }
    expect(seen).toEqual(new Set(["kept", "moved"]));
  });
});

import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scribeProcess } from "./support/commands.ts";
import { skippedFor } from "./support/programs.ts";
import { newWorkspace, temporaryFolder } from "./support/workspace.ts";

const ownCache =
  Number.parseInt(process.versions.node, 10) >= 22 ? "Node 22 and newer keep compiled code themselves" : undefined;

describe("P9: compiled code is kept between commands", skippedFor(ownCache), () => {
  async function reading() {
    const { root: cwd } = await newWorkspace();
    const cache = temporaryFolder();
    const folder = join(cache, "scriptorium/code");
    const fetch = () =>
      scribeProcess(["fetch-entry", "--role", "planner", "--id", "vision"], { cwd, env: { XDG_CACHE_HOME: cache } });
    const file = () => join(folder, readdirSync(folder)[0] ?? "");
    return { cache, folder, fetch, file };
  }

  test("in a folder that only its user can read, and one file per command", async () => {
    const { folder, fetch, file } = await reading();
    expect((await fetch()).json()).toMatchObject({ id: "vision" });
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    const { mtimeMs } = statSync(file());
    expect((await fetch()).json()).toMatchObject({ id: "vision" });
    expect(readdirSync(folder)).toEqual([
      expect.stringMatching(/^commands-.*-fetch-entry$/),
      expect.stringMatching(/^scribe-client-.*-fetch-entry$/),
    ]);
    expect(statSync(file()).mtimeMs).toBe(mtimeMs);
  });

  test("a damaged file is replaced, and one that others can write is not used", async () => {
    const { fetch, file } = await reading();
    await fetch();
    const good = readFileSync(file());
    for (const mode of [0o600, 0o666]) {
      writeFileSync(file(), "damaged");
      chmodSync(file(), mode);
      expect((await fetch()).json()).toMatchObject({ id: "vision" });
      expect(readFileSync(file()).length).toBeGreaterThan(good.length / 2);
      expect(statSync(file()).mode & 0o777).toBe(0o600);
    }
  });

  test("files of another build are removed, and a folder that cannot be written is not needed", async () => {
    const { cache, folder, fetch } = await reading();
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "commands-OLD.cjs-v20-x64-serve"), "old");
    await fetch();
    expect(readdirSync(folder)).toEqual([
      expect.stringMatching(/^commands-.*-fetch-entry$/),
      expect.stringMatching(/^scribe-client-.*-fetch-entry$/),
    ]);
    const { root: cwd } = await newWorkspace();
    writeFileSync(join(cache, "file"), "");
    const env = { XDG_CACHE_HOME: join(cache, "file") };
    expect((await scribeProcess(["list-entries", "--role", "planner"], { cwd, env })).code).toBe(0);
  });
});

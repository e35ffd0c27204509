import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { type Ran, scribeProcess, scriptoriumProcess, serveProcess } from "./support/commands.ts";
import { overHttp } from "./support/mcp.ts";
import { skipNow } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { gitIn, newWorkspace, person, read, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const scribeFile = new URL("../dist/scribe.js", import.meta.url).pathname;

/** Puts a folder of the workspace on a small file system of its own. False where this user may not. */
function onOwnDisk(folder: string): boolean {
  const copy = mkdtempSync(join(temporaryFolder(), "copy-"));
  cpSync(folder, copy, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return false;
  }
  onTestFinished(() => void execFileSync("umount", ["-l", folder]));
  cpSync(copy, folder, { recursive: true });
  return true;
}

type Fault = { what: string; begin(folder: string): void; end(folder: string): void };

const faults: Fault[] = [
  {
    what: "full",
    begin(folder) {
      const { bavail, bsize } = statfsSync(folder);
      try {
        writeFileSync(join(folder, "filler"), Buffer.alloc(bavail * bsize));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    },
    end: (folder) => rmSync(join(folder, "filler")),
  },
  {
    what: "read-only",
    begin: (folder) => void execFileSync("mount", ["-o", "remount,ro", folder]),
    end: (folder) => void execFileSync("mount", ["-o", "remount,rw", folder]),
  },
];

const places = [".scriptorium", "wiki", ".git"];
const cases = places.flatMap((place) => faults.map((fault) => ({ place, ...fault })));

const linesOf = async (cwd: string) => {
  const ran = await scriptoriumProcess(["entry", "read", "decisions", "--json"], { cwd });
  return [...ran.json<{ content: string }>().content.matchAll(/: (line \w+)$/gm)].map(([, line]) => line).sort();
};

const problemsIn = async (cwd: string) =>
  (await scriptoriumProcess(["doctor", "--json"], { cwd }))
    .json<{ findings: { state: string; area: string }[] }>()
    .findings.filter(({ state, area }) => state === "problem" && area === "wiki");

const append = (line: string) => ["append-log", "--role", "engineer", "--id", "decisions", "--line", line];

describe("M9: a folder of the workspace on a disk that refuses", () => {
  test.each(cases)(
    "M9: $place $what: each write is kept or refused with status storage, on every face, and works again after it",
    async ({ place, what, begin, end }) => {
      const { root, app } = await newWorkspace();
      const made = unwrap(await operations.create_token.perform(app, { kind: "agent", role: "engineer" }, person()));
      await app.close();
      const folder = join(root, place);
      if (!onOwnDisk(folder)) return skipNow("this user may not mount a tmpfs");
      const server = await serveProcess(root);
      const token = read(join(root, ".scriptorium/token")).trim();
      const { call } = await overHttp(server.url, made.token);
      const kept: string[] = [];
      const byHttp = async (line: string) => {
        const { status, json } = await ask(server.url, "/api/entries/decisions/log", {
          method: "POST",
          token,
          body: { line },
        });
        if (status === 200) kept.push(line);
        else
          expect([line, status, json()]).toEqual([
            line,
            expect.toSatisfy((code) => code === 507 || code === 503),
            expect.objectContaining({ status: "storage" }),
          ]);
      };
      const byMcp = async (line: string) => {
        const answer = await call("append_log", { id: "decisions", line });
        if (answer.status === "success") kept.push(line);
        else expect([line, answer]).toEqual([line, expect.objectContaining({ status: "storage" })]);
      };
      const byScribe = async (line: string) => {
        const ran = await scribeProcess(append(line), { cwd: root });
        if (ran.code === 0) kept.push(line);
        else expect([line, ran.stdout]).toEqual([line, expect.stringContaining('"storage"')]);
      };
      // A file system cannot become read-only while a file on it is open for writing.
      if (place !== ".scriptorium" || what !== "read-only") {
        begin(folder);
        for (let n = 1; n <= 3; n++) {
          await byHttp(`line h${n}`);
          await byMcp(`line m${n}`);
          await byScribe(`line s${n}`);
        }
        end(folder);
      }
      await byHttp("line last");
      expect(kept.at(-1)).toBe("line last");
      await server.stop();
      begin(folder);
      await byScribe("line alone");
      end(folder);
      expect(await scribeProcess(append("line after"), { cwd: root })).toMatchObject({ code: 0 });
      expect(await linesOf(root)).toEqual([...kept, "line after"].sort());
      expect(await problemsIn(root)).toEqual([]);
      expect(gitIn(root)("fsck", "--strict", "--no-dangling")).toBe("");
      expect(gitIn(root)("status", "--porcelain")).toBe("");
    },
  );
});

/** Runs scribe under a limit of the shell. */
const limited = (limit: string, cwd: string, line: string) =>
  new Promise<Pick<Ran, "code" | "stdout" | "stderr">>((done, fail) => {
    const command = `ulimit ${limit}; exec "$0" "$@"`;
    const child = spawn("sh", ["-c", command, process.execPath, scribeFile, ...append(line)], {
      cwd,
      env: testEnvironment(),
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => (stdout += chunk));
    child.stderr.on("data", (chunk) => (stderr += chunk));
    child.on("error", fail);
    child.on("close", (code) => done({ code, stdout, stderr }));
    child.stdin.end();
  });

describe("M9: limits of a process", () => {
  // In blocks of 512 bytes: below the size of the database, of a page of it, and of nothing.
  test("M9: under ulimit -f each write is kept or refused with status storage, and works again without it", async () => {
    const { root, app } = await newWorkspace();
    await app.close();
    const kept: string[] = [];
    for (const blocks of [0, 1, 8, 64, 512, 4096]) {
      const ran = await limited(`-f ${blocks}`, root, `line f${blocks}`);
      if (ran.code === 0) kept.push(`line f${blocks}`);
      else
        expect([blocks, ran.stdout + ran.stderr]).toEqual([
          blocks,
          expect.stringMatching(/"storage"|the disk is full/),
        ]);
    }
    expect(await scribeProcess(append("line after"), { cwd: root })).toMatchObject({ code: 0 });
    expect(await linesOf(root)).toEqual([...kept, "line after"].sort());
    expect(await problemsIn(root)).toEqual([]);
    expect(gitIn(root)("fsck", "--strict", "--no-dangling")).toBe("");
    expect(gitIn(root)("status", "--porcelain")).toBe("");
  });

  test("M9: under ulimit -n each write is kept or refused, and works again without it", async () => {
    const { root, app } = await newWorkspace();
    await app.close();
    const kept: string[] = [];
    for (const files of [22, 26, 28, 30, 32, 34, 36, 40]) {
      const ran = await limited(`-n ${files}`, root, `line n${files}`);
      if (ran.code === 0) kept.push(`line n${files}`);
      // With still fewer, Node itself does not start.
      else
        expect([files, ran.stdout + ran.stderr]).toEqual([
          files,
          expect.stringMatching(/"storage"|[Tt]oo many|EMFILE/),
        ]);
    }
    expect(await scribeProcess(append("line after"), { cwd: root })).toMatchObject({ code: 0 });
    expect(await linesOf(root)).toEqual([...kept, "line after"].sort());
    expect(await problemsIn(root)).toEqual([]);
    expect(gitIn(root)("fsck", "--strict", "--no-dangling")).toBe("");
  });
});

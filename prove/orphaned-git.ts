import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { answerOf, ended, inCopy, newWorkspace, run, succeed, versionFormat } from "./support/commands.ts";
import type { Context, Proof } from "./support/proof.ts";

export const proof: Proof = {
  promise: "A git process that outlives its killed writer removes no version from the history",
  async run(context) {
    const base = await newWorkspace(context);
    while (Date.now() < context.until) await inCopy(context, base, (root) => outlive(context, root));
  },
};

const append = (line: string) => ["append-log", "--role", "engineer", "--id", "decisions", "--line", line];

/** The first writer is killed while its `git fast-import` is held; the second records; then the held one goes on. */
async function outlive(context: Context, root: string): Promise<void> {
  const held = holdFastImport(context);
  const first = context.start("scribe", append("first"), { cwd: root, env: { PATH: held.path } });
  const firstEnd = ended(first);
  await seen(held.file("held"));
  first.kill("SIGKILL");
  const answers = [await firstEnd, await run(context, "scribe", append("second"), { cwd: root })];
  const versions = answers.flatMap(({ stdout }) => answerOf(stdout)?.version ?? []);
  writeFileSync(held.file("release"), "");
  await seen(held.file("done"));

  // Opening it again may repair the history.
  const doctor = answerOf((await run(context, "scriptorium", ["doctor", "--json"], { cwd: root })).stdout);
  const args = ["log", `--format=${versionFormat}`, "refs/scriptorium/history"];
  const history = (await succeed(context, "git", args, { cwd: root })).split("\n");
  for (const version of versions) {
    const count = history.filter((line) => line === `decisions ${version}`).length;
    const detail = `acknowledged version ${version} of decisions is ${count} times in history; doctor: healthy ${doctor?.healthy}`;
    context.check(count === 1, detail);
  }
}

/** A PATH whose git stops at the first fast-import, with its whole input read, until it is released. */
function holdFastImport(context: Context) {
  const folder = mkdtempSync(join(context.folder, "held-"));
  const file = (name: string) => join(folder, name);
  mkdirSync(file("bin"));
  writeFileSync(file("bin/git"), script(folder, process.env.PATH ?? ""), { mode: 0o755 });
  return { file, path: `${file("bin")}:${process.env.PATH}` };
}

// It ends by itself when the proof's folder is removed.
const script = (folder: string, path: string) => `#!/bin/sh
PATH='${path}'
case " $* " in
  *" fast-import "*)
    if mkdir '${folder}/once' 2>/dev/null; then
      cat > '${folder}/stream'
      touch '${folder}/held'
      while [ -d '${folder}' ] && [ ! -e '${folder}/release' ]; do sleep 0.05; done
      git "$@" < '${folder}/stream'
      touch '${folder}/done'
      exit
    fi ;;
esac
exec git "$@"
`;

async function seen(file: string): Promise<void> {
  for (let n = 0; n < 600 && !existsSync(file); n++) await sleep(50);
  if (!existsSync(file)) throw new Error("git fast-import was not started within 30 s");
}

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { answerOf, run, succeed, versionFormat } from "../support/commands.ts";
import type { Context } from "../support/proof.ts";
import type { Effect } from "./history.ts";
import { marksIn } from "./state.ts";

type Sqlite = { prepare(sql: string): { all(): unknown[] }; close(): void };

/** Reads a workspace of files: events from the database, texts from git, and lines from the log as it lies on disk. */
export function openFileHistory(context: Context, root: string) {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite") as unknown as {
    DatabaseSync: new (file: string, options: object) => Sqlite;
  };
  return {
    async query<T extends object>(sql: string): Promise<T[]> {
      const db = new DatabaseSync(join(root, ".scriptorium/scriptorium.db"), { readOnly: true });
      try {
        return db.prepare(sql).all() as T[];
      } finally {
        db.close();
      }
    },
    async texts(): Promise<Effect[]> {
      await untilRecorded(context, root);
      const format = `--format=%x01${versionFormat}`;
      const log = await succeed(context, "git", ["log", "-p", "--no-color", format, "refs/scriptorium/history"], {
        cwd: root,
      });
      const commits = log.split("\u0001").slice(1);
      return commits.flatMap((commit) => {
        const [head = "", ...lines] = commit.split("\n");
        const [key = "", version = ""] = head.split(" ");
        const added = lines.filter((line) => line.startsWith("+") && !line.startsWith("+++")).join("\n");
        return marksIn(added).map((mark) => ({ key, mark, version: Number(version), position: 0 }));
      });
    },
  };
}

/** Git may lag behind an acknowledgement; doctor says when it has every version. */
async function untilRecorded(context: Context, root: string): Promise<void> {
  for (let n = 0; n < 20; n++) {
    const { stdout } = await run(context, "scriptorium", ["doctor", "--json"], { cwd: root });
    const findings = (answerOf(stdout)?.findings ?? []) as { check: string; message: string }[];
    if (findings.find(({ check }) => check === "history")?.message === "every version is in git") return;
    await sleep(250);
  }
}

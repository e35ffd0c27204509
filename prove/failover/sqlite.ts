import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openConnection } from "../../src/store/sqlite/connection.ts";
import { succeed, versionFormat } from "../support/commands.ts";
import type { Context } from "../support/proof.ts";
import type { Effect } from "./history.ts";
import { marksIn } from "./state.ts";

/** Reads a workspace of files: events from the database, texts from git, and lines from the log as it lies on disk. */
export function openFileHistory(context: Context, root: string) {
  async function query<T extends object>(sql: string): Promise<T[]> {
    const connection = openConnection(join(root, ".scriptorium/scriptorium.db"), 5000);
    try {
      return connection.prepare(sql).all([]) as T[];
    } finally {
      connection.close();
    }
  }
  return {
    query,
    async texts(): Promise<Effect[]> {
      await untilRecorded(query);
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

/** Git may lag behind an acknowledgement. */
async function untilRecorded(query: (sql: string) => Promise<object[]>): Promise<void> {
  for (let n = 0; n < 400; n++) {
    if ((await query("SELECT 1 FROM git_queue WHERE in_history = 0 LIMIT 1")).length === 0) return;
    await sleep(50);
  }
}

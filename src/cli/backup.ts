import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { ok, refuse } from "../kernel/result.ts";
import { type BackupSummary, backupWorkspace } from "../setup/backup.ts";
import { type Restored, restoreWorkspace, verifyBackup } from "../setup/restore.ts";
import { crashAt } from "../store/disk/crash.ts";
import { type Common, print, withApp } from "./session.ts";
import { shell } from "./shell.ts";

export const backupCommand = (common: () => Common) =>
  new Command("backup")
    .description("write the whole workspace into one file, also while the server runs")
    .argument("<file>", "file to write, such as backup.jsonl.gz")
    .option("--verify", "check an existing backup instead: every row and file against its hash")
    .action(async (name, { verify }) => {
      const file = resolve(shell().cwd, name);
      if (!verify)
        return withApp(common(), async (app) => print(common(), await backupWorkspace(app, file), backupText));
      const found = await verifyBackup(file);
      print(common(), found.ok ? ok(summaryOf(file, found.value)) : found, verifiedText);
    });

export const restoreCommand = (common: () => Common) =>
  new Command("restore")
    .description("create a workspace from a backup, after checking it")
    .argument("<file>", "file that scriptorium backup wrote")
    .argument("[folder]", "folder to create", "restored")
    .option("--to <database>", "sqlite, or the URL of an empty PostgreSQL database", "sqlite")
    .action(async (file, folder, { to }) => {
      const { env, cwd } = shell();
      crashAt(env.SCRIPTORIUM_CRASH_AT);
      const isKnown = /^(sqlite$|postgres(ql)?:\/\/)/.test(to);
      const restored = isKnown
        ? await restoreWorkspace(resolve(cwd, file), resolve(cwd, folder), { to, env })
        : refuse("invalid", `--to ${to}: expected sqlite, or a PostgreSQL URL such as postgres://host/name`);
      print(common(), restored, restoredText);
    });

type Verified = Extract<Awaited<ReturnType<typeof verifyBackup>>, { ok: true }>["value"];

function summaryOf(file: string, { head, end }: Verified) {
  const rows = Object.values(end.tables).reduce((sum, table) => sum + table.rows, 0);
  const { created_at, store, engine, left_out } = head;
  return {
    file,
    created_at,
    store,
    engine,
    tables: Object.keys(end.tables).length,
    rows,
    files: Object.keys(end.files).length,
    sha256: end.sha256,
    left_out,
  };
}

const backupText = ({ file, tables, rows, files, left_out }: BackupSummary) =>
  [
    `${file}: ${rows} rows of ${tables} tables, ${files} files`,
    "not in it:",
    ...left_out.map((line) => `  ${line}`),
  ].join("\n");

const verifiedText = ({ file, created_at, rows, tables, files }: ReturnType<typeof summaryOf>) =>
  `${file}: complete, from ${created_at}; ${rows} rows of ${tables} tables, ${files} files`;

const restoredText = ({ folder, store, database, rows, files }: Restored) =>
  `restored ${rows} rows and ${files} files to ${folder} (store: ${store}, database: ${database}); check it: scriptorium doctor`;

import { resolve } from "node:path";
import { Argument, Command } from "@commander-js/extra-typings";
import { type App, openApp } from "../app.ts";
import { loadConfig } from "../config/config.ts";
import { findWorkspace } from "../config/environment.ts";
import { answers } from "../http/agent-socket.ts";
import { findSocket } from "../kernel/agent-socket.ts";
import { ok, type Result, refuse, unwrap } from "../kernel/result.ts";
import { configOfBook, type Moved, type MovePlan, moveStore, planMove } from "../setup/move-store.ts";
import { crashAt } from "../store/disk/crash.ts";
import { databaseName } from "../wiki/stores/book.ts";
import { adoptHome, type Home, placeOf } from "../wiki/stores/home.ts";
import { decide } from "./decide.ts";
import { type Common, localPerson, print, tellWaiting, tokenOf } from "./session.ts";
import { shell, writeErr } from "./shell.ts";

const help = `
The entries are in one store: files (markdown in git) or database (rows). The database beside them has events,
topics, proposals, tasks and the rest. The move carries all of it, proves every table by a hash in both databases,
and edits scriptorium.yaml at the end. The old database stays. An interrupted move is continued by the same command.

Examples:
  scriptorium store move database                            rows in the present database
  scriptorium store move files --to postgres://host/name     files stay, everything else goes to PostgreSQL
  scriptorium store move files --to sqlite                   back to files and SQLite`;

export const storeCommand = (common: () => Common) =>
  new Command("store")
    .description("move the entries between stores, databases and folders")
    .addCommand(
      new Command("move")
        .description(operation.summary)
        .addArgument(new Argument("<store>", "where the entries go").choices(["files", "database"] as const))
        .option("--to <database>", "sqlite, or the URL of an empty PostgreSQL database (default: the present one)")
        .addHelpText("after", help)
        .action(async (store, { to }) => print(common(), await move(common(), store, to), movedText)),
    )
    .addCommand(
      new Command("adopt")
        .description(adoption.summary)
        .addHelpText("after", adoptHelp)
        .action(async () => print(common(), await adopt(common()), adoptedText)),
    );

const adoption = {
  name: "store_adopt",
  summary: "Make this folder the one whose files PostgreSQL indexes, after it was moved to another machine.",
};

const adoptHelp = `
With store: files on PostgreSQL, the files of one folder are the entries, and other folders are refused. Run this in
the new folder when the old one is no longer used: its servers are stopped, and its files and git history are here.

Example:
  git fetch old-host:handbook '+refs/scriptorium/*:refs/scriptorium/*'
  scriptorium store adopt`;

async function adopt(common: Common): Promise<Result<Adopted>> {
  const { env, cwd } = shell();
  const root = unwrap(findWorkspace(resolve(cwd, common.dir ?? ".")));
  const app = await openApp(unwrap(loadConfig(root, env)), { tellProgress: tellWaiting, anyHome: true });
  try {
    const person = await localPerson(app, common);
    const input = { folder: root };
    const text = `${adoption.summary}\n  folder: ${root}\n\nServers and workers in the old folder must be stopped.`;
    const decided = await decide(
      app,
      { operation: adoption, input, person, hasToken: Boolean(tokenOf(common)) },
      { word: "adopt", preview: async () => ok({ text }) },
    );
    return decided.ok ? await adoptHome(app, decided.value.caller.name) : decided;
  } finally {
    await app.close();
  }
}

type Adopted = { from: Home | null; to: Home };

const adoptedText = ({ from, to }: Adopted) =>
  `the entries are the files in ${placeOf(to)} now${from ? `, and no longer those in ${placeOf(from)}` : ""}`;

const operation = { name: "store_move", summary: "Move the entries and everything else to another store or database." };

async function move(common: Common, store: "files" | "database", to: string | undefined): Promise<Result<Moved>> {
  const { env, cwd } = shell();
  crashAt(env.SCRIPTORIUM_CRASH_AT);
  const root = unwrap(findWorkspace(resolve(cwd, common.dir ?? ".")));
  const config = configOfBook(unwrap(loadConfig(root, env)));
  const socket = findSocket(config.stateFolder);
  if (socket !== undefined && (await answers(socket)))
    return refuse("conflict", "a server of this workspace is running; stop it, then move the entries");
  const plan = planMove(config, store, to);
  if (!plan.ok) return plan;
  const app = await openApp(config, { tellProgress: tellWaiting });
  try {
    const decided = await confirm(app, common, plan.value);
    if (!decided.ok) return decided;
    return await moveStore(app, { ...plan.value, actor: decided.value.caller.name }, ({ table, rows, state }) => {
      if (rows > 0) writeErr(`${table}: ${rows} rows ${state}\n`);
    });
  } finally {
    await app.close();
  }
}

async function confirm(app: App, common: Common, plan: MovePlan) {
  const person = await localPerson(app, common);
  const input = { from: placeText(plan.from), to: placeText(plan.to) };
  const text = `${operation.summary}\n  from: ${input.from}\n  to: ${input.to}\n\nscriptorium.yaml will be:\n${plan.configText}`;
  return decide(
    app,
    { operation, input, person, hasToken: Boolean(tokenOf(common)) },
    { word: "move", preview: async () => ok({ text }) },
  );
}

const placeText = ({ store, database }: MovePlan["from"]) => `${databaseName(database)} (store: ${store})`;

const movedText = ({ from, to, versions, tables, kept }: Moved) =>
  [
    `moved from ${from} to ${to}`,
    ...(versions > 0 ? [`${versions} versions converted`] : []),
    ...(Object.keys(tables).length > 0 ? [`${Object.keys(tables).length} tables copied, equal by hash`] : []),
    ...(kept ? [`the old state stays in ${kept}`] : []),
    "scriptorium.yaml is changed; commit it, and confirm its settings if asked: scriptorium allow",
  ].join("\n");

import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Command, Option } from "@commander-js/extra-typings";
import { type Config, loadConfig } from "../config/config.ts";
import { findWorkspace } from "../config/environment.ts";
import { ok, type Result, refuse, unwrap } from "../kernel/result.ts";
import type { Client } from "../setup/clients/clients.ts";
import type { Proof } from "../setup/clients/round-trip.ts";
import type { Plan, Wanted, Wish } from "../setup/connect.ts";
import { isInteractive, openPrompts } from "./prompts.ts";
import { type Common, print } from "./session.ts";
import { shell, writeOut } from "./shell.ts";
import { colouredDiff, dim, green, red, table } from "./text.ts";

const help = `
Clients: claude, codex, cursor, vscode, gemini, opencode, qwen, copilot

Examples:
  scriptorium connect                        clients on this machine, and which are connected
  scriptorium connect claude                 add the server to .mcp.json, after showing the diff
  scriptorium connect codex cursor --yes     several at once, without a question
  scriptorium connect gemini --scope user    for all your projects: ~/.gemini/settings.json
  scriptorium connect claude --print         print the entry and write nothing`;

export const connectCommand = (common: () => Common) =>
  new Command("connect")
    .description("add the MCP server to the configuration of agent clients, and test it")
    .argument("[client...]", "clients to connect; none lists them")
    .option("--role <role>", "the agent's role in schema.yaml (default: the only one)")
    .option("--tools <list>", "tools to offer beyond the default, such as graph,tasks or all")
    .addOption(
      new Option("--scope <scope>", "this project, or all projects of this user")
        .choices(["project", "user"] as const)
        .default("project" as const),
    )
    .option("--print", "print the entry and write nothing")
    .option("--yes", "write without asking")
    .addHelpText("after", help)
    .action(async (names, options) => {
      const { env, cwd } = shell();
      const config = unwrap(loadConfig(unwrap(findWorkspace(resolve(cwd, common().dir ?? "."))), env));
      if (names.length === 0) return listClients(common(), config);
      const { clientsNamed, planEntries, wantedEntries } = await import("../setup/connect.ts");
      const chosen = unwrap(clientsNamed(names));
      const role = unwrap(await roleFor(config, options.role));
      const wish: Wish = { scope: options.scope, role, tools: options.tools };
      const wanted = wantedEntries(env, chosen, wish);
      if (options.print) return printEntries(common(), wanted, config);
      const plan = unwrap(planEntries(config.root, env, wanted));
      print(common(), await connect(common(), config, plan, options.yes ?? false), {
        text: resultText,
        json: resultJson,
      });
    });

/** The role for the entry: none where the schema has only one, since the server then finds it itself. */
async function roleFor(config: Config, given: string | undefined): Promise<Result<string | undefined>> {
  const [{ parseSchema, rolesOf }, { chooseRole }] = await Promise.all([
    import("../wiki/schema.ts"),
    import("../wiki/role.ts"),
  ]);
  const file = `${config.wiki}/schema.yaml`;
  const schema = parseSchema(await readFile(join(config.root, file), "utf8"), file);
  if (!schema.ok) return schema;
  const roles = rolesOf(schema.value);
  if (given === undefined && roles.length === 1) return ok(undefined);
  if (given === undefined && isInteractive(shell())) return ok(await (await openPrompts()).select("Role", roles));
  return chooseRole(schema.value, given, file);
}

type Connected = { plan: Plan; written: string[]; proof: Result<Proof> };

async function connect(common: Common, config: Config, plan: Plan, yes: boolean): Promise<Result<Connected>> {
  const { changesOf, writeEntries } = await import("../setup/connect.ts");
  const { diffOf } = await import("../setup/change.ts");
  const changes = changesOf(plan);
  if (changes.length > 0) {
    if (!common.json) for (const change of changes) writeOut(`${colouredDiff(diffOf(change))}\n\n`);
    if (!yes && !isInteractive(shell())) {
      return refuse("refused", "nothing was written; pass --yes to write this, or --print to see only the entry");
    }
    if (!yes && !(await (await openPrompts()).confirm("Write this?"))) return refuse("refused", "nothing was written");
    const done = writeEntries(config, changes);
    if (!done.ok) return done;
  }
  const proof = await prove(plan, config);
  if (!proof.ok) shell().exitCode = 1;
  return ok({ plan, written: changes.map(({ shown }) => shown), proof });
}

/** One round trip for each different command. */
export async function prove(
  { entries }: Pick<Plan, "entries">,
  { root }: Pick<Config, "root">,
): Promise<Result<Proof>> {
  const { roundTrip } = await import("../setup/clients/round-trip.ts");
  const servers = new Map(entries.map(({ server }) => [JSON.stringify(server), server]));
  let last: Result<Proof> = refuse("invalid", "no client was named");
  for (const server of servers.values()) {
    last = await roundTrip(server, root, definedOnly(shell().env));
    if (!last.ok) return last;
  }
  return last;
}

const definedOnly = (env: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined));

function resultText({ plan, written, proof }: Connected): string {
  const lines = plan.entries.map(({ client, scope, change }) => {
    const isNew = written.includes(change.shown);
    return `${green(isNew ? "connected" : "already connected")}  ${client.title} (${scope}): ${change.shown}`;
  });
  return [
    ...lines,
    dim(`command: ${commandLine(plan)} (${plan.why})`),
    ...(plan.isPortable ? [] : [dim("The path is valid on this machine only: do not commit the entry for others.")]),
    proofText(proof),
    ...plan.entries.filter(({ change }) => written.includes(change.shown)).map(({ client }) => client.first),
  ].join("\n");
}

export const proofText = (proof: Result<Proof>) =>
  proof.ok
    ? `${green("works")}  started the server, listed ${proof.value.tools} tools and ${proof.value.entries} entries in ${(proof.value.ms / 1000).toFixed(1)} s`
    : `${red("failed")}  ${proof.problem.message}`;

const commandLine = ({ entries: [first] }: Plan) => [first?.server.command, ...(first?.server.args ?? [])].join(" ");

export const resultJson = ({ plan, written, proof }: Connected) => ({
  clients: plan.entries.map(({ client, scope, change, server }) => ({
    client: client.name,
    scope,
    file: change.shown,
    status: written.includes(change.shown) ? "connected" : "already connected",
    command: server.command,
    args: server.args,
  })),
  proof: proof.ok ? { ok: true, ...proof.value } : { ok: false, error: proof.problem.message },
});

async function printEntries(common: Common, { entries }: Wanted, { root }: Config): Promise<void> {
  const { shownFile } = await import("../setup/clients/clients.ts");
  const shown = entries.map(({ client, scope, server }) => ({
    client: client.name,
    file: shownFile(client, scope, root, shell().env),
    text: entryText(client, client.entry(server, scope)),
  }));
  print(common, ok(shown), (all) => all.map(({ file, text }) => `${dim(`${file}:`)}\n${text}`).join("\n\n"));
}

const entryText = ({ key, format }: Client, entry: object) =>
  format === "json"
    ? JSON.stringify({ [key]: { scriptorium: entry } }, null, 2)
    : `[${key}.scriptorium]\n${Object.entries(entry)
        .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
        .join("\n")}`;

async function listClients(common: Common, config: Config): Promise<void> {
  const { detectClients } = await import("../setup/clients/detect.ts");
  const found = await detectClients(config.root, shell().env);
  const rows = found.map(({ client, program, version, connected }) => ({
    client: client.name,
    title: client.title,
    installed: program !== undefined,
    version: version ?? null,
    connected,
  }));
  print(common, ok(rows), (clients) =>
    [
      table([
        ["CLIENT", "", "INSTALLED", "CONNECTED"],
        ...clients.map(({ client, title, installed, version, connected }) => [
          client,
          title,
          installed ? (version ?? "yes") : "–",
          connected.join(", ") || "–",
        ]),
      ]),
      "",
      `Connect one with: scriptorium connect ${clients.find((c) => c.installed && c.connected.length === 0)?.client ?? "<client>"}`,
    ].join("\n"),
  );
}

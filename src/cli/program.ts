import { type Argument, Command, CommanderError, Help, Option } from "commander";
import { version } from "../kernel/version.ts";
import { summaries } from "./command-summaries.ts";
import { commandGroups, commandNames, loadCommand } from "./commands.ts";
import { complete } from "./completion.ts";
import { type Common, fail, withApp } from "./session.ts";
import { runInShell, type Shell, shell, writeErr, writeOut } from "./shell.ts";

/** Runs one command line, in this process's shell or the given one: exit code 0 ok, 1 problem, 2 usage. */
export const runScriptorium = (argv: string[], own?: Shell): Promise<void> => runInShell(own, () => execute(argv));

async function execute(argv: string[]): Promise<void> {
  const program = new Command("scriptorium");
  const common = (): Common => program.opts();
  program
    .description(
      "Shared memory for coding agents: a wiki in git, with write permissions, version conflicts and human review.",
    )
    .version(version, "-V, --version", "print the version")
    // Otherwise --version of a command would be taken for the program's own.
    .enablePositionalOptions()
    .option("--dir <folder>", "the workspace, or a folder in it (default: the current folder)")
    .option("--json", "print one JSON value instead of text")
    .option("--token <token>", "act as the person of this token (default: SCRIPTORIUM_TOKEN)")
    .option("--idempotency-key <key>", "repeat a change with the same key and it takes effect once (24 hours)")
    .showHelpAfterError("(see --help)")
    .addHelpText("after", examples);

  // Only the commands that the words name are loaded; completion needs all.
  const isNamed = (name: string) => argv.includes(name) || argv[0] === completerName;
  for (const name of commandNames) {
    const stub = () => new Command(name).description(summaries[name] ?? "");
    program.addCommand(isNamed(name) ? await loadCommand(name, common) : stub());
  }
  program.addCommand(completer(program, common), { hidden: true });
  acceptEverywhere(program);

  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) shell().exitCode = error.exitCode === 0 ? 0 : 2;
    else fail(common(), error);
  }
}

const completerName = "__complete";

const examples = `
Examples:
  scriptorium init handbook                     create a workspace
  scriptorium entry read vision --json          read an entry with its version and metadata
  scriptorium search "retry policy"             find a passage
  scriptorium mcp --role engineer               MCP server for an agent
  scriptorium serve                             read, discuss and approve in a browser

Agents use a second command, scribe. For scripts: --json; exit code 0 success, 1 failure, 2 usage error.`;

/** The list of commands has a line before the first command of each group. */
function underHeadings(this: Help, heading: string, items: string[], helper: Help): string[] {
  const firsts = new Map(commandGroups.map(([group, [first]]) => [first, ` ${group}`]));
  const listed = items.flatMap((item) => {
    const group = firsts.get(item.trim().split(" ")[0]);
    return group === undefined ? [item] : [group, item];
  });
  return Help.prototype.formatItemList.call(this, heading, heading === "Commands:" ? listed : items, helper);
}

const argumentTerm = (argument: Argument) => {
  const name = argument.variadic ? `${argument.name()}...` : argument.name();
  return argument.required ? `<${name}>` : `[${name}]`;
};

/** Descriptions come from operations, as sentences, and from here, as phrases; help shows all of them alike. */
const helpLine = (text: string) =>
  text.charAt(0).toUpperCase() + (text.includes(". ") ? text.slice(1) : text.slice(1).replace(/\.$/, ""));

/** --dir, --json, --token and --idempotency-key may come before or after the command; usage errors are thrown, not exits. */
function acceptEverywhere(program: Command): void {
  const walk = (command: Command) => {
    command.exitOverride().configureOutput({ writeOut, writeErr }).helpOption("-h, --help", "show this help");
    command.configureHelp({
      ...(command === program && { formatItemList: underHeadings }),
      subcommandTerm: (listed) => [listed.name(), ...listed.registeredArguments.map(argumentTerm)].join(" "),
    });
    command.description(helpLine(command.description()));
    if (command.commands.length > 0) command.helpCommand("help [command]", "Show help for a command");
    for (const child of command.commands) walk(child);
    if (command === program || command.commands.length > 0) return;
    if (!command.options.some((option) => option.long === "--json"))
      command.option("--json", "print one JSON value instead of text");
    if (!command.options.some((option) => option.long === "--dir"))
      command.option("--dir <folder>", "the workspace, or a folder in it (default: the current folder)");
    command.addOption(new Option("--token <token>").hideHelp());
    command.addOption(new Option("--idempotency-key <key>").hideHelp());
    command.hook("preAction", (_this, action) => {
      const { json, dir, token, idempotencyKey } = action.opts();
      if (json) program.setOptionValue("json", true);
      if (dir) program.setOptionValue("dir", dir);
      if (token) program.setOptionValue("token", token);
      if (idempotencyKey) program.setOptionValue("idempotencyKey", idempotencyKey);
      // They are not fields of the operation that the command passes its options to.
      for (const name of ["json", "dir", "token", "idempotencyKey"]) action.setOptionValue(name, undefined);
    });
  };
  walk(program);
}

const completer = (program: Command, common: () => Common) =>
  new Command(completerName).argument("[words...]").action(async (words: string[]) => {
    const ids = () => withApp(common(), async (app) => (await app.entries.list()).map((entry) => entry.id));
    const found = await complete(program, words, ids).catch(() => []);
    writeOut(found.map((word) => `${word}\n`).join(""));
  });

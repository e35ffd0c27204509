import { runScriptorium } from "../../src/cli/program.ts";
import { runScribe } from "../../src/cli/scribe.ts";
import { type Help, helpOf, optionsOf } from "./help.ts";
import { code, escaped, fenced, page, sentence, table } from "./markdown.ts";

/** Options of every command; a page describes them once. */
const shared = {
  scriptorium: /^(-h, --help|-V, --version|--json|--dir <\w+>)$/,
  scribe: /^(-h, --help|--(role|dir|config|run|task|epoch|secret) <\w+>)$/,
};

const output =
  "Values go to stdout and errors to stderr. The exit code is 0 on success, 1 on a problem, and 2 on wrong usage.";

export async function cliPage(): Promise<string> {
  const [program, ...commands] = await helpOf(runScriptorium, ["scriptorium"], shared.scriptorium);
  const options = await optionsOf(runScriptorium, ["scriptorium"]);
  return page(
    "scriptorium",
    escaped(sentence(program?.description ?? "")),
    output,
    contents(commands),
    "## Options of every command",
    optionTable(options),
    ...commands.map(section),
  );
}

export async function scribePage(): Promise<string> {
  const [program, ...commands] = await helpOf(runScribe, ["scribe"], shared.scribe);
  const options = await optionsOf(runScribe, commands[0]?.path ?? []);
  return page(
    "scribe",
    escaped(sentence(program?.description ?? "")),
    `${output} [Operations](operations.md) describes the answers.`,
    contents(commands),
    "## Options of every command",
    optionTable(options.filter(([term]) => shared.scribe.test(term))),
    ...commands.map(section),
  );
}

const contents = (commands: Help[]) =>
  table(
    ["command", ""],
    commands.map((help) => [`[${help.path.slice(1).join(" ")}](#${help.path.join("-")})`, sentence(help.description)]),
  );

const section = (help: Help) =>
  [
    `## ${help.path.join(" ")}`,
    escaped(sentence(help.description)),
    fenced("text", help.usage),
    optionTable(help.arguments, "argument"),
    optionTable(help.options),
    help.after === "" ? "" : fenced("text", help.after.trim()),
  ]
    .filter(Boolean)
    .join("\n\n");

const optionTable = (options: Help["options"], head = "option") =>
  options.length === 0
    ? ""
    : table(
        [head, ""],
        options.map(([term, text]) => [code(term), sentence(text)]),
      );

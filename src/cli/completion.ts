import { Command } from "commander";
import { writeOut } from "./shell.ts";

type ShellName = "bash" | "zsh" | "fish";

const scripts: Record<ShellName, string> = {
  bash: `_scriptorium() { mapfile -t COMPREPLY < <(scriptorium __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); }
complete -o default -F _scriptorium scriptorium
`,
  zsh: `#compdef scriptorium
_scriptorium() { local -a found; found=("\${(@f)$(scriptorium __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"); compadd -- $found; }
compdef _scriptorium scriptorium
`,
  fish: `complete -c scriptorium -f -a '(scriptorium __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
};

/** Prints a completion script for the shell; it calls `complete` for the words. */
export const completionCommand = () =>
  new Command("completion")
    .description("print a shell completion script, e.g. source <(scriptorium completion bash)")
    .argument("<shell>", "bash, zsh or fish")
    .action((name: string, _options, command: Command) => {
      const script = scripts[name as ShellName];
      if (!script) command.error(`no completion script for ${name}; expected bash, zsh or fish`);
      writeOut(script);
    });

/** Completions of the words typed so far; `ids` returns the ids of the entries. */
export async function complete(program: Command, words: string[], ids: () => Promise<string[]>): Promise<string[]> {
  const typed = words.at(-1) ?? "";
  let command = program;
  for (const word of words.slice(0, -1)) command = command.commands.find((c) => c.name() === word) ?? command;
  const takesEntry = command.parent?.name() === "entry" && command.registeredArguments[0]?.name() === "id";
  const choices = typed.startsWith("-")
    ? [...command.options, ...program.options].flatMap((option) => option.long ?? [])
    : [
        ...command.commands.map((c) => c.name()).filter((name) => !name.startsWith("__")),
        ...(takesEntry ? await ids() : []),
      ];
  return choices.filter((choice) => choice.startsWith(typed));
}

import { createInterface } from "node:readline";
import { agentMark } from "../agents/agent-marks.ts";
import type { App } from "../app.ts";
import type { Config } from "../config/config.ts";
import type { Person } from "../kernel/caller.ts";
import type { Operation } from "../kernel/operation.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { ownerToken } from "../people/token-person.ts";
import { type Shell, shell } from "./shell.ts";
import { inert, printable } from "./text.ts";

type Input = Readonly<Record<string, unknown>>;

/** How a person is asked to confirm a decision at a terminal. */
export type Confirmation<A = App> = {
  /** The word to type. */
  word: string;
  /** What will happen, as inert text. `pin` adds to the input, so that nothing else is decided than what was shown. */
  preview(app: A, person: Person): Promise<Result<{ text: string; pin?: Input }>>;
};

type Described = Pick<Operation<App>, "name" | "summary">;
type Decision = { operation: Described; input: Input; person: Person; hasToken: boolean };

/**
 * The caller and the input of a decision, or a refusal. A person proves it with a token of theirs or by typing a word
 * at a terminal. Neither counts in a process of an agent: the agent could have read the token or made the terminal.
 */
export async function decide<A extends { config: Config }>(
  app: A,
  { operation, input, person, hasToken }: Decision,
  confirmation: Confirmation<A> = describedBy(operation, input),
): Promise<Result<{ caller: Person; input: Input }>> {
  const mark = agentMark(shell().env, await shell().ancestors());
  if (mark)
    return refuse(
      "denied",
      `this command runs inside ${mark.agent} (${mark.because}), and decisions are made by people; run it in a terminal of your own, or decide in the browser: scriptorium serve`,
    );
  if (hasToken) return ok({ caller: { ...person, proof: "token" }, input });
  if (!isTerminal(shell())) {
    // The message names the file.
    ownerToken(app.config.stateFolder);
    return refuse(
      "denied",
      "a person must confirm this: run it in a terminal, or pass a person's token with --token or SCRIPTORIUM_TOKEN; the owner's token is in .scriptorium/token, others come from: scriptorium token create --person <name> --rank collaborator",
    );
  }
  const shown = await confirmation.preview(app, person);
  if (!shown.ok) return shown;
  const { text, pin } = shown.value;
  const { word } = confirmation;
  const typed = await question(shell(), `${text}\n\nType ${word} to confirm: `);
  if (typed?.trim().toLowerCase() !== word)
    return refuse("refused", `not confirmed: expected the word ${word}; nothing was changed`);
  return ok({ caller: { ...person, proof: "terminal" }, input: { ...input, ...pin } });
}

type Terminal = { isTTY?: boolean };

/** stdout may be redirected: the question is on stderr. */
const isTerminal = ({ stdin, stderr }: Shell) => Boolean((stdin as Terminal).isTTY && (stderr as Terminal).isTTY);

/** Undefined when the person ends the input or presses Ctrl-C. */
function question({ stdin, stderr }: Shell, text: string): Promise<string | undefined> {
  const lines = createInterface({ input: stdin, output: stderr });
  return new Promise((done) => {
    lines.on("SIGINT", () => {
      stderr.write("\n");
      lines.close();
    });
    lines.on("close", () => done(undefined));
    lines.question(printable(text), (answer) => {
      done(answer);
      lines.close();
    });
  });
}

/** For operations whose summary and input say everything. */
const describedBy = ({ name, summary }: Described, input: Input): Confirmation<unknown> => ({
  word: name.split("_")[0] ?? name,
  preview: async () => {
    const fields = Object.entries(input).filter(([, value]) => value !== undefined);
    return ok({ text: [summary, ...fields.map(([key, value]) => `  ${key}: ${inert(String(value))}`)].join("\n") });
  },
});

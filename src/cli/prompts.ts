import { Refused } from "../kernel/result.ts";
import type { Shell } from "./shell.ts";
import { printable } from "./text.ts";

/** Questions at a terminal. Ctrl-C and Esc end the command with nothing written. */
export type Prompts = {
  intro(text: string): void;
  note(text: string, title?: string): void;
  outro(text: string): void;
  confirm(message: string, initial?: boolean): Promise<boolean>;
  text(message: string, initial: string): Promise<string>;
  select<T extends string>(message: string, options: readonly Choice<T>[], initial?: T): Promise<T>;
  multiselect<T extends string>(message: string, options: readonly Choice<T>[], initial: readonly T[]): Promise<T[]>;
};

/** A value, or a value with its label and a hint. */
export type Choice<T extends string> = T | { value: T; label: string; hint?: string };

type Terminal = { isTTY?: boolean };

/** True if a person can answer: both streams are a terminal. */
export const isInteractive = ({ stdin, stdout }: Shell) =>
  Boolean((stdin as Terminal).isTTY && (stdout as Terminal).isTTY);

export async function openPrompts(): Promise<Prompts> {
  const clack = await import("@clack/prompts");
  const answered = <T>(value: T) => {
    if (!clack.isCancel(value)) return value as Exclude<T, symbol>;
    throw new Refused({ code: "refused", message: "cancelled; nothing was written" });
  };
  const optionOf = <T extends string>(choice: Choice<T>) =>
    typeof choice === "string"
      ? { value: choice, label: printable(choice) }
      : { ...choice, label: printable(choice.label), ...(choice.hint ? { hint: printable(choice.hint) } : {}) };
  return {
    intro: (text) => clack.intro(printable(text)),
    note: (text, title) => clack.note(printable(text), title),
    outro: (text) => clack.outro(printable(text)),
    confirm: async (message, initial = true) =>
      answered(await clack.confirm({ message: printable(message), initialValue: initial })),
    text: async (message, initial) =>
      answered(await clack.text({ message: printable(message), initialValue: initial })),
    select: async <T extends string>(message: string, choices: readonly Choice<T>[], initial?: T) => {
      const options = choices.map(optionOf) as { value: string; label: string }[];
      const given = initial === undefined ? {} : { initialValue: initial as string };
      return answered(await clack.select<string>({ message: printable(message), options, ...given })) as T;
    },
    multiselect: async <T extends string>(message: string, choices: readonly Choice<T>[], initial: readonly T[]) => {
      const options = choices.map(optionOf) as { value: string; label: string }[];
      const initialValues = initial as readonly string[] as string[];
      return answered(
        await clack.multiselect<string>({ message: printable(message), options, initialValues, required: false }),
      ) as T[];
    },
  };
}

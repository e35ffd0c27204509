import type { ChildProcess } from "node:child_process";

/** A module `prove/<name>.ts` exports one as `proof`. */
export type Proof = {
  /** One sentence about the product that no try may contradict. */
  promise: string;
  run(context: Context): Promise<void>;
  /** Its share of the time, beside 1 of the others. */
  weight?: number;
};

/** What a proof shows beside its number of tries. */
export type Table = { title: string; about: string; header: string[]; rows: string[][] };

export type Context = {
  /** Start no try after this time (Date.now()). A try that runs on for long is killed and not counted. */
  until: number;
  /** Seeded: numbers from 0 to 1. */
  random(): number;
  /** A temporary folder, removed after the proof. */
  folder: string;
  /** Counts one try, and a violation with its detail unless `ok`. */
  check(ok: boolean, detail: string): void;
  /** What the tries covered, e.g. "18 of 18 crash points"; the last call wins. */
  note(text: string): void;
  /** Shown on the page; the last table wins. */
  table(table: Table): void;
  /** Called when the proof ends, also when it is interrupted; the last one first. */
  atEnd(work: () => void): void;
  /** Starts a command as it ships, or git. It is killed when the proof's time is over. */
  start(command: "scriptorium" | "scribe" | "git", args: string[], options: StartOptions): ChildProcess;
};

export type StartOptions = {
  cwd: string;
  env?: Record<string, string>;
  /** A command that runs the command, e.g. in another network namespace. */
  within?: string[];
};

export type Outcome = {
  name: string;
  promise: string;
  tries: number;
  /** Details of the first violations; `violations` is their number. */
  details: string[];
  violations: number;
  note: string;
  table?: Table;
  /** The proof itself failed, e.g. a command it needs could not be started. */
  error?: string;
};

/** A proof that tried nothing has shown nothing, so it fails. */
export const failed = ({ tries, violations, error }: Outcome) => tries === 0 || violations > 0 || error !== undefined;

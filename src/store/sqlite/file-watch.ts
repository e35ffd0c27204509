import { existsSync, linkSync, mkdirSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Refused } from "../../kernel/result.ts";
import { privateFolder } from "../disk/private.ts";
import type { Connection } from "./connection.ts";

/** Notices that the file of an open database was deleted or replaced, as `git clean -x` does. */
export interface FileWatch {
  /** Throws if the file is not the one that was opened. Costs one stat. */
  check(): void;
  /** What `check` would throw, as text. */
  trouble(): string | undefined;
}

/**
 * A deleted file stays open and takes writes that nobody will ever read. The first check that notices saves the
 * content, which SQLite can still read, to the old place or, where another database is there by now, beside it.
 */
export function watchFile(connection: Connection, file: string): FileWatch {
  const identity = () => {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return found && `${found.dev} ${found.ino}`;
  };
  const opened = file === ":memory:" ? undefined : identity();
  let message: string | undefined;

  function trouble(): string | undefined {
    if (message === undefined && identity() !== opened) message = describe();
    return message;
  }

  function describe(): string {
    const what = `${file} was ${existsSync(file) ? "replaced" : "deleted"} while it was open`;
    try {
      return `${what}; nothing more is written. Its content was saved to ${save(connection, file)}: restart Scriptorium`;
    } catch (error) {
      return `${what}, and its content could not be saved (${(error as Error).message}); nothing more is written. Restart Scriptorium: entries come back from git`;
    }
  }

  return {
    trouble,
    check() {
      const found = trouble();
      if (found !== undefined) throw new Refused({ code: "refused", message: found });
    },
  };
}

/** Copies the database to its old place if that is free, else beside it. Returns the path. */
function save(connection: Connection, file: string): string {
  const folder = dirname(file);
  // The workspace itself was deleted: nobody wants a database there.
  if (!existsSync(dirname(folder))) throw new Error(`${dirname(folder)} is gone`);
  mkdirSync(folder, privateFolder);
  const copy = `${file}.saved-${process.pid}`;
  rmSync(copy, { force: true });
  connection.exec(`VACUUM INTO '${copy.replaceAll("'", "''")}'`);
  try {
    linkSync(copy, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return copy;
  }
  rmSync(copy);
  return file;
}

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { privateFile, privateFolder } from "../store/disk/private.ts";

/** What the hooks of one session must not repeat. */
export type SessionState = {
  /** Whether it was asked to record decisions. */
  asked: boolean;
  /** Hashes of the passages that were added to its prompts. */
  recalled: string[];
};

const keptDays = 7;
const maxRecalled = 500;

/** A file per session in .scriptorium/; files of sessions that ended long ago are deleted. */
export function sessionState(stateFolder: string, session: string) {
  const folder = join(stateFolder, "sessions");
  const file = join(folder, `${hashOf(session)}.json`);

  return {
    read(): SessionState {
      try {
        const { asked, recalled } = JSON.parse(readFileSync(file, "utf8"));
        return { asked: asked === true, recalled: Array.isArray(recalled) ? recalled.map(String) : [] };
      } catch {
        return { asked: false, recalled: [] };
      }
    },
    write({ asked, recalled }: SessionState): void {
      mkdirSync(folder, privateFolder);
      const draft = `${file}.${process.pid}`;
      writeFileSync(draft, JSON.stringify({ asked, recalled: recalled.slice(-maxRecalled) }), privateFile);
      renameSync(draft, file);
      deleteOld(folder);
    },
  };
}

function deleteOld(folder: string): void {
  const before = Date.now() - keptDays * 24 * 3_600_000;
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if ((statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) < before) rmSync(file, { force: true });
  }
}

export const hashOf = (text: string) => createHash("sha256").update(text).digest("base64url").slice(0, 22);

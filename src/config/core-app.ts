import type { Log } from "../kernel/log.ts";
import type { Threads } from "../kernel/threads/threads.ts";
import type { Database } from "../store/database.ts";
import type { Git } from "../store/git/git.ts";
import type { Idempotency } from "../store/idempotency.ts";
import type { LiveConfig } from "./live.ts";

/**
 * The part of the application that every folder may use. Each folder above extends it by its own
 * stores (`WikiApp`, `ReviewApp`, …); `src/app.ts` builds the whole once, tests build it by hand.
 */
export interface CoreApp {
  config: LiveConfig;
  db: Database;
  idempotency: Idempotency;
  git: Git;
  now(): Date;
  newId(prefix: string): string;
  log: Log;
  /** For computations that may take long. */
  threads: Threads;
}

import type { Log } from "../kernel/log.ts";
import type { Database } from "../store/database.ts";
import type { Git } from "../store/git/git.ts";
import type { Config } from "./config.ts";

/**
 * The part of the application that every folder may use. Each folder above extends it by its own
 * stores (`WikiApp`, `ReviewApp`, …); `src/app.ts` builds the whole once, tests build it by hand.
 */
export interface CoreApp {
  config: Config;
  db: Database;
  git: Git;
  now(): Date;
  newId(prefix: string): string;
  log: Log;
}

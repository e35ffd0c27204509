import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { openApp } from "../app.ts";
import { loadConfig } from "../config/config.ts";
import { environment } from "../config/environment.ts";
import { openGit } from "../config/open-git.ts";
import { packageFile } from "../kernel/package-files.ts";
import { unwrap } from "../kernel/result.ts";
import { newRepository } from "../store/git/git.ts";
import { firstCommit, initWorkspace } from "../wiki/init.ts";
import { writeExampleHistory } from "./example-history.ts";

const weekMs = 7 * 24 * 3_600_000;

/** The example workspace, created on first use with a history of the past week. */
export async function openExample(folder: string): Promise<string> {
  const finished = join(folder, ".example");
  if (existsSync(join(finished, "scriptorium.yaml"))) return finished;
  // Created under another name and renamed when complete, so that an interrupted start leaves no partial workspace.
  const root = join(folder, `.example-${process.pid}`);
  const from = packageFile("example/");
  const env = environment();
  await mkdir(root, { recursive: true });
  await cp(new URL("wiki/", from), join(root, "wiki"), { recursive: true });
  await cp(new URL("scriptorium.yaml", from), join(root, "scriptorium.yaml"));
  // A repository of its own: the folder is usually inside a clone of Scriptorium.
  await newRepository(root, env);
  // Otherwise the newcomer would be the author of every page.
  const git = openGit(root, env);
  await git.maybe(["config", "user.name", "Larkspur Freight (example)"]);
  await git.maybe(["config", "user.email", "handbook@example.org"]);
  unwrap(await initWorkspace(root, "crew", env));
  await firstCommit(root, ["."], env);
  const config = unwrap(loadConfig(root, env));
  const today = new Date();
  const app = await openApp(config, { now: () => new Date(today.getTime() - weekMs) });
  await app.entries.list();
  const names = await readdir(new URL("sources/", from));
  for (const name of names.sort()) {
    unwrap(
      await app.sources.add(name, await readFile(new URL(`sources/${name}`, from)), {
        name: "Larkspur Freight (example)",
      }),
    );
  }
  await app.close();
  await writeExampleHistory(config, today);
  await git.maybe(["config", "--remove-section", "user"]);
  await rename(root, finished);
  return finished;
}

import { availableParallelism, loadavg } from "node:os";
import { isInMemory, openPlace, type Place } from "../support/place.ts";
import { spell, type Table } from "../support/table.ts";
import { largeCatalogue } from "./catalogue.ts";
import { acknowledgedCommits } from "./commits.ts";
import { historyLag } from "./history.ts";
import { manyProcesses } from "./processes.ts";
import { manySections } from "./sections.ts";
import { keptWrites } from "./servers.ts";
import { coldStart } from "./start.ts";

/** In the order they are asked. Each gives the tables that answer it. */
const questions: Record<string, (place: Place) => Promise<Table[]>> = {
  start: coldStart,
  commits: acknowledgedCommits,
  history: historyLag,
  processes: manyProcesses,
  servers: keptWrites,
  catalogue: largeCatalogue,
  sections: manySections,
};

/** Asks all questions, or those named. With --json stdout has one JSON value, and the tables go to stderr. */
export async function ask(args: string[]): Promise<void> {
  const json = args.includes("--json");
  const named = args.filter((arg) => arg !== "--json");
  const unknown = named.filter((name) => !questions[name]);
  if (unknown.length > 0) {
    console.error(`no question ${unknown.join(", ")}; there are ${Object.keys(questions).join(", ")}`);
    process.exitCode = 2;
    return;
  }

  const say = json ? console.error : console.log;
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  const began = new Date();
  const tables: Table[] = [];
  try {
    const load = (loadavg()[0] ?? 0).toFixed(1);
    say(
      `${availableParallelism()} cores (load ${load}), Node ${process.versions.node}, ${began.toISOString().slice(0, 10)}`,
    );
    if (isInMemory()) say("the temporary folder is in memory: set TMPDIR to a disk, or durable writes cost nothing");
    say("");
    for (const [name, question] of Object.entries(questions)) {
      if (named.length > 0 && !named.includes(name)) continue;
      const found = await question(place);
      for (const table of found) say(spell(table));
      tables.push(...found);
    }
  } finally {
    await place.leave();
  }
  const targets = tables.flatMap((table) => table.rows.flatMap((row) => row.target ?? []));
  const met = targets.filter((target) => target.met).length;
  const seconds = Math.round((Date.now() - began.getTime()) / 1000);
  say(`${met} of ${targets.length} targets met, in ${seconds} s`);
  if (json) console.log(JSON.stringify({ cores: availableParallelism(), seconds, tables }));
}

/** SQLite bindings side by side, through the store's own code. See bench/README.md. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeVersion } from "../test/support/node-versions.ts";
import { bindings } from "./engines/bindings.ts";
import { coldOpen, type Figures, measure } from "./engines/measure.ts";
import { median } from "./support/measure.ts";
import { ended, openPlace, type Place } from "./support/place.ts";
import { type Row, spell, type Table } from "./support/table.ts";

/** `--node 20,24` and `--only NAME` measure less; `--rounds N` more or less often. */
const option = (name: string) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const rounds = Number(option("rounds") ?? 3);
const releases = (option("node") ?? "20,22,24").split(",");
const only = option("only");
const coldStarts = 7;

type Measured = Figures & { "load and open ms": number };

async function main(): Promise<void> {
  const [, , mode, name = "", path = ""] = process.argv;
  const binding = bindings[name];
  if (mode === "--child" && binding) return console.log(JSON.stringify(await measure(binding(), path)));
  if (mode === "--cold" && binding) return console.log(coldOpen(binding, path));

  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  try {
    const tables: Table[] = [];
    for (const release of releases) tables.push(await tableOf(place, release));
    if (process.argv.includes("--json")) console.log(JSON.stringify(tables));
    else for (const table of tables) console.log(spell(table));
  } finally {
    await place.leave();
  }
}

async function tableOf(place: Place, release: string): Promise<Table> {
  const question = `SQLite bindings on Node ${release} (median of ${rounds} rounds in turn)`;
  const here = process.versions.node.split(".")[0] === release;
  const found = here ? { node: process.execPath } : await nodeVersion(release);
  if ("missing" in found) return { question, rows: [], notes: [found.missing] };

  const results = new Map<string, Measured[]>();
  const failures = new Map<string, string>();
  for (let round = 0; round < rounds; round++) {
    for (const name of Object.keys(bindings)) {
      if (failures.has(name) || (only && !name.includes(only))) continue;
      process.stderr.write(`Node ${release}, ${name}\n`);
      const figures = await inChild(place, found.node, name);
      if (typeof figures === "string") failures.set(name, figures);
      else results.set(name, [...(results.get(name) ?? []), figures]);
    }
  }
  const rows = [...results].map(([what, list]): Row => ({ what, figures: medians(list) }));
  return { question, rows, notes: [...failures].map(([name, why]) => `${name}: ${why}`) };
}

const medians = (list: Measured[]) => {
  const keys = Object.keys(list[0] ?? {}) as (keyof Measured)[];
  return Object.fromEntries(keys.map((key) => [key, median(list.map((figures) => figures[key]))]));
};

/** The figures, or why there are none. */
async function inChild(place: Place, node: string, name: string): Promise<Measured | string> {
  const self = fileURLToPath(import.meta.url);
  const folder = place.folder("engine");
  const run = (...args: string[]) => ended(place.start(node, ["--no-warnings", self, ...args]));
  const child = await run("--child", name, folder);
  if (child.code !== 0) return child.code === null ? "the process crashed" : reasonIn(child.stderr);
  const cold: number[] = [];
  for (let n = 0; n < coldStarts; n++) cold.push(Number((await run("--cold", name, join(folder, "raw.db"))).stdout));
  return { ...(JSON.parse(child.stdout) as Figures), "load and open ms": median(cold) };
}

const reasonIn = (stderr: string) => /^\w*Error.*$/m.exec(stderr)?.[0].slice(0, 150) ?? stderr.slice(0, 150);

await main();

/** From an empty machine to a result: commands and seconds, beside Backlog.md and Task Master. See bench/README.md. */
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Tools } from "./journey/mcp.ts";
import { scriptorium } from "./journey/ours.ts";
import { backlog, taskMaster } from "./journey/peers.ts";
import { type Journey, journeys, type Product } from "./journey/products.ts";
import { newPerson, type Step } from "./journey/steps.ts";
import { median } from "./support/measure.ts";
import { openPlace, type Place, succeed } from "./support/place.ts";
import { type Row, spell, type Table } from "./support/table.ts";

/** `--only NAME` for one product, `--rounds N`, `--write` to put the tables into bench/README.md. */
const option = (name: string) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const rounds = Number(option("rounds") ?? 3);
const only = option("only")?.toLowerCase();

type Installed = Product & { bin: string; packages: number; megabytes: number; seconds: number };
type Walked = { steps: Step[]; tools: Tools | undefined };

async function main(): Promise<void> {
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  try {
    const products = [scriptorium(await pack(place)), backlog, taskMaster].filter(
      ({ name }) => !only || name.toLowerCase().includes(only),
    );
    const installed: Installed[] = [];
    for (const product of products) installed.push(await install(place, product));
    const walked = await walkAll(place, installed);
    const load = (loadavg()[0] ?? 0).toFixed(1);
    const head = `${availableParallelism()} cores (load ${load}), Node ${process.versions.node}`;
    const text = [head, "", ...tablesOf(installed, walked).map(spell)].join("\n");
    console.log(text);
    if (process.argv.includes("--write")) writeSection(text);
  } finally {
    await place.leave();
  }
}

/** The tarball as it would be published, of the build that this bench made for itself. */
async function pack(place: Place): Promise<string> {
  const built = join(dirname(fileURLToPath(import.meta.url)), "..");
  const { files, version } = JSON.parse(readFileSync("package.json", "utf8"));
  for (const path of [...files, "README.md", "LICENSE"]) {
    if (!path.startsWith("!") && !existsSync(join(built, path))) cpSync(path, join(built, path), { recursive: true });
  }
  const folder = place.folder("tarball");
  await succeed(
    place.start("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: built, env: npm }),
  );
  return join(folder, `scriptorium-${version}.tgz`);
}

/** npm reaches the registry as this machine is configured to. */
const npm = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) =>
    value !== undefined && name !== "HOME" ? [[name, value]] : [],
  ),
);

async function install(place: Place, product: Product): Promise<Installed> {
  process.stderr.write(`installing ${product.name}\n`);
  const prefix = place.folder("prefix");
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const env = { ...npm, HOME: process.env.HOME ?? "", npm_config_cache: place.folder("cache") };
  const began = performance.now();
  await succeed(place.start("npm", ["install", "--global", "--prefix", prefix, ...quiet, product.spec], { env }));
  const seconds = (performance.now() - began) / 1000;
  const kilobytes = Number.parseInt(await succeed(place.start("du", ["-sk", prefix])), 10);
  const list = await succeed(
    place.start("npm", ["ls", "--global", "--prefix", prefix, "--all", "--parseable"], { env }),
  );
  const packages = list.trim().split("\n").length - 1;
  return { ...product, bin: join(prefix, "bin"), packages, megabytes: kilobytes / 1024, seconds };
}

async function walkAll(place: Place, products: Installed[]): Promise<Map<string, Walked[]>> {
  const walked = new Map<string, Walked[]>();
  for (let round = 0; round < rounds; round++) {
    for (const journey of journeys) {
      for (const product of products) {
        const walk = product.walks[journey];
        if (!walk) continue;
        process.stderr.write(`${product.name}: ${journey}\n`);
        const person = await newPerson(place, product.bin);
        const tools = await walk(person, place);
        const key = keyOf(product, journey);
        walked.set(key, [...(walked.get(key) ?? []), { steps: person.steps, tools }]);
      }
    }
  }
  return walked;
}

const keyOf = ({ name }: Product, journey: Journey) => `${name}: ${journey}`;

function tablesOf(products: Installed[], walked: Map<string, Walked[]>): Table[] {
  const installs: Table = {
    question: "npm install --global (empty cache, without install scripts; once)",
    rows: products.map(({ name, seconds, packages, megabytes }) => ({
      what: name,
      figures: { seconds, packages, MB: megabytes },
    })),
  };
  const each = journeys.map((journey): Table => {
    const rows = products.flatMap((product): Row[] => {
      const rounds = walked.get(keyOf(product, journey));
      return rounds ? [{ what: product.name, figures: figuresOf(rounds) }] : [];
    });
    return {
      question: `From an empty repository to ${journey} (median of ${rounds}, after the install)`,
      rows,
      notes: stepsOf(products, journey, walked),
    };
  });
  const last = each.at(-1);
  if (last) last.notes = [...(last.notes ?? []), ...products.flatMap(({ notes }) => notes)];
  return [installs, ...each.filter(({ rows }) => rows.length > 0)];
}

/** The install counts as one of the commands. */
function figuresOf(rounds: Walked[]): Row["figures"] {
  const [first] = rounds;
  const steps = first?.steps ?? [];
  const count = (kind: Step["kind"]) => steps.filter((step) => step.kind === kind).length;
  const seconds = median(rounds.map((walked) => walked.steps.reduce((sum, step) => sum + step.seconds, 0)));
  const tools = rounds.flatMap((walked) => walked.tools ?? []);
  return {
    commands: count("command") + 1,
    edits: count("edit"),
    seconds,
    ...(tools[0]
      ? {
          "initialize ms": median(tools.map(({ initialize }) => initialize)),
          tools: tools[0].tools,
          "tokens of tools/list": tools[0].tokens,
        }
      : {}),
  };
}

const stepsOf = (products: Installed[], journey: Journey, walked: Map<string, Walked[]>): string[] =>
  products.flatMap((product) => {
    const steps = walked.get(keyOf(product, journey))?.at(-1)?.steps;
    const spelt = steps?.map(({ text, seconds, kind }) =>
      kind === "edit" ? `[${text}]` : `${shortened(text)} ${seconds.toFixed(1)} s`,
    );
    return spelt ? [`${product.name}: ${spelt.join(" · ")}`] : [];
  });

const shortened = (text: string) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);

const [begin, end] = ["<!-- journey -->", "<!-- /journey -->"];

function writeSection(text: string): void {
  const page = readFileSync("bench/README.md", "utf8");
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`bench/README.md has no ${begin} … ${end}`);
  writeFileSync("bench/README.md", `${before}${begin}\n\`\`\`\n${text.trim()}\n\`\`\`\n${end}${after}`);
}

await main();

import { once } from "node:events";
import { Command, Option } from "@commander-js/extra-typings";
import { exportLines, type Format, formats } from "../graph/exchange.ts";
import { listBacklinks, queryNodes, search } from "../graph/list-operations.ts";
import { importGraph } from "../graph/operations.ts";
import { findPath, getSubgraph } from "../graph/walk-operations.ts";
import { type Common, readInput, report, withApp } from "./session.ts";
import { shell, writeOut } from "./shell.ts";
import { bold, dim, json, plural, table } from "./text.ts";

export const graphCommand = (common: () => Common) =>
  new Command("graph")
    .description("query, export and import the knowledge graph")
    .addCommand(
      new Command("search")
        .description(search.summary)
        .argument("<words...>")
        .option("--type <type>", "only nodes of this type")
        .option("--limit <n>", "maximum number of nodes", Number)
        .action((words, { type, limit }) =>
          report(
            common(),
            search,
            { query: words.join(" "), type, limit },
            { text: hits, json: (found) => found.nodes },
          ),
        ),
    )
    .addCommand(
      new Command("query")
        .description(queryNodes.summary)
        .option("--type <type>", "only nodes of this type")
        .option(
          "--where <condition...>",
          "conditions such as status=open, status!=open, size>10, title~part, or the name of a property that must exist",
        )
        .option("--fields <names...>", "properties to show")
        .option("--limit <n>", "maximum number of nodes", Number)
        .option("--cursor <cursor>", "continue after the last answer")
        .action(({ where, ...given }) =>
          report(common(), queryNodes, { ...given, where: where?.map(conditionIn) }, listed),
        ),
    )
    .addCommand(
      new Command("subgraph")
        .description(getSubgraph.summary)
        .argument("<id>")
        .option("--depth <n>", "maximum distance in edges, 1 to 4", Number, 2)
        .option("--max-nodes <n>", "maximum number of nodes", Number)
        .option("--edge-types <types...>", "follow only edges of these types")
        .option("--cursor <cursor>", "continue after the last answer")
        .action((id, { maxNodes, edgeTypes, ...given }) =>
          report(common(), getSubgraph, { id, max_nodes: maxNodes, edge_types: edgeTypes, ...given }, drawn),
        ),
    )
    .addCommand(
      new Command("backlinks")
        .description(listBacklinks.summary)
        .argument("<id or path>", "such as vision, service:billing or docs/deploy.md")
        .option("--limit <n>", "maximum number of entries", Number)
        .option("--cursor <cursor>", "continue after the last answer")
        .action((about, given) => report(common(), listBacklinks, { ...named(about), ...given }, linked)),
    )
    .addCommand(
      new Command("path")
        .description(findPath.summary)
        .argument("<from>")
        .argument("<to>")
        .option("--max-depth <n>", "maximum number of edges", Number)
        .action((from, to, { maxDepth }) =>
          report(common(), findPath, { from, to, max_depth: maxDepth }, (way) =>
            way.found ? drawn(way) : `no path from ${from} to ${to} within that many edges`,
          ),
        ),
    )
    .addCommand(
      new Command("export")
        .description("Write the whole graph to stdout.")
        .addOption(new Option("--format <format>", "output format").choices(formats).default("jsonl" as const))
        .option("--whole", "include derived nodes (entries, sources, tasks) and their links in JSON Lines")
        .action(({ format, whole }) => exportGraph(common(), format, whole)),
    )
    .addCommand(
      new Command("import")
        .description(importGraph.summary)
        .argument("<file>", "JSON Lines file from `graph export`; - for stdin")
        .action(async (file) => {
          const lines = (await readInput(file)).toString("utf8");
          await report(
            common(),
            importGraph,
            { lines },
            (done) => `imported ${plural(done.nodes, "node")} and ${plural(done.edges, "edge")}`,
          );
        }),
    );

const operators = { "=": "eq", "!=": "ne", ">": "gt", "<": "lt", "~": "contains" } as const;

/** Parses a condition such as `size>10`; values other than numbers and booleans are text. */
function conditionIn(text: string) {
  const [, property = text, sign, value = ""] = /^(.+?)(!=|[=<>~])(.*)$/s.exec(text) ?? [];
  if (!sign) return { property, op: "exists" as const };
  const isPlain = /^(true|false|-?\d+(\.\d+)?)$/.test(value);
  return { property, op: operators[sign as keyof typeof operators], value: isPlain ? JSON.parse(value) : value };
}

/** With --json one value, otherwise line by line with backpressure. */
async function exportGraph(common: Common, format: Format, whole?: boolean): Promise<void> {
  await withApp(common, async (app) => {
    await app.links.catchUp();
    const isJson = format === "jsonl";
    const collected: string[] = [];
    for await (const line of exportLines(app.db, format, whole)) {
      if (common.json) collected.push(line);
      else if (!writeOut(`${isJson ? json(JSON.parse(line)) : line}\n`)) await once(shell().stdout, "drain");
    }
    if (!common.json) return;
    const value = isJson ? collected.map((line) => JSON.parse(line)) : collected.join("\n");
    writeOut(`${json(value)}\n`);
  });
}

type Line = { id: string; type: string; title: string };

function hits({ nodes }: { nodes: (Line & { snippet: string })[] }): string {
  if (nodes.length === 0) return "nothing found; try fewer or other words";
  const lines = nodes.map(
    (node) => `${bold(node.id)}  ${node.type}  ${dim(node.title)}\n  ${node.snippet.replaceAll(/\s+/g, " ")}`,
  );
  return [...lines, dim(plural(nodes.length, "node"))].join("\n");
}

type Listed = { nodes: (Line & { properties?: object | undefined })[]; cursor?: string | undefined };

function listed({ nodes, cursor }: Listed): string {
  if (nodes.length === 0) return "no nodes match";
  const rows = nodes.map(({ id, type, title, properties }) => [
    id,
    type,
    title,
    ...(properties ? [JSON.stringify(properties)] : []),
  ]);
  return [table([["id", "type", "title"], ...rows]), ...(cursor ? [dim(`more with --cursor ${cursor}`)] : [])].join(
    "\n",
  );
}

/** A name with a file extension is a path, any other an id. */
const named = (about: string) => (/\.\w+$/.test(about) && !about.includes(":") ? { path: about } : { id: about });

type Linked = {
  id: string;
  exists: boolean;
  backlinks: Line[];
  broken?: string[] | undefined;
  cursor?: string | undefined;
};

function linked({ id, exists, backlinks, broken, cursor }: Linked): string {
  return [
    ...(exists ? [] : [`${id} does not exist yet`]),
    backlinks.length === 0 ? `nothing links to ${id}` : table(backlinks.map((line) => [bold(line.id), line.title])),
    ...(broken ? [`broken links: ${broken.join(", ")}`] : []),
    ...(cursor ? [dim(`more with --cursor ${cursor}`)] : []),
  ].join("\n");
}

type Drawn = {
  nodes: Line[];
  edges: { from: string; type: string; to: string }[];
  truncated?: boolean | undefined;
  cursor?: string | undefined;
};

function drawn({ nodes, edges, truncated, cursor }: Drawn): string {
  return [
    table(nodes.map(({ id, type, title }) => [bold(id), type, title])),
    ...edges.map(({ from, type, to }) => `${from} ${dim(`─${type}→`)} ${to}`),
    ...(truncated ? [dim(`truncated${cursor ? `; continue with --cursor ${cursor}` : ""}`)] : []),
  ].join("\n");
}

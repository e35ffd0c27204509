import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { command, type Place } from "../support/place.ts";
import { holds, type Row, type Table } from "../support/table.ts";
import { newWorkspace, role } from "../support/workspace.ts";
import { connectClient, memoryServer } from "./mcp-client.ts";

const writes = 20;
const numbers = Array.from({ length: writes }, (_, n) => n);

/** One write, and whether the server said it was done. */
type Write = (client: Client, n: number) => Promise<boolean>;
type Side = {
  what: string;
  ours: boolean;
  /** A new empty memory: how to start a server on it, and which of the writes are there in the end. */
  fresh(): Promise<{ connect(): Promise<Client>; write: Write; kept(): number }>;
};

/** The same writes to the MCP reference memory server and to ours: how much of what was acknowledged is kept. */
export async function keptWrites(place: Place): Promise<Table[]> {
  const sides = [memory(place), appends(place), commits(place)];
  const rows: Row[] = [];
  for (const side of sides) rows.push(await inFlight(side));
  for (const side of sides) rows.push(await twoServers(side));
  return [{ question: "What MCP servers keep of what they acknowledged (stdio)", rows }];
}

async function inFlight(side: Side): Promise<Row> {
  const { connect, write, kept } = await side.fresh();
  const client = await connect();
  const answers = await Promise.all(numbers.map((n) => write(client, n)));
  await client.close();
  return keptRow(`${side.what}, ${writes} in flight at once`, side, answers, kept());
}

/** Two servers on one memory, each asked one thing at a time, both at once. */
async function twoServers(side: Side): Promise<Row> {
  const { connect, write, kept } = await side.fresh();
  const clients = [await connect(), await connect()];
  const ask = async (client: Client, mine: number[]) => {
    const answers: boolean[] = [];
    for (const n of mine) answers.push(await write(client, n));
    return answers;
  };
  const shares = clients.map((client, half) =>
    ask(
      client,
      numbers.filter((n) => n % 2 === half),
    ),
  );
  const answers = (await Promise.all(shares)).flat();
  for (const client of clients) await client.close();
  return keptRow(`${side.what}, two servers, ${writes / 2} + ${writes / 2}`, side, answers, kept());
}

function keptRow(what: string, { ours }: Side, answers: boolean[], kept: number): Row {
  const acknowledged = answers.filter(Boolean).length;
  const target = holds(`all ${writes} acknowledged and kept`, acknowledged === writes && kept === writes);
  return { what, figures: { acknowledged, kept }, ...(ours ? { target } : {}) };
}

function memory(place: Place): Side {
  return {
    what: "MCP reference memory, create_entities",
    ours: false,
    async fresh() {
      const { args, env, file } = memoryServer(place);
      return {
        connect: () => connectClient(place, args, env),
        write: (client, n) =>
          call(client, "create_entities", {
            entities: [{ name: `mark-${n}.`, entityType: "note", observations: [`what ${n} says`] }],
          }),
        kept: () => marksIn(existsSync(file) ? readFileSync(file, "utf8") : ""),
      };
    },
  };
}

function appends(place: Place): Side {
  return {
    what: "scriptorium mcp, append_log",
    ours: true,
    async fresh() {
      const { root } = await newWorkspace(place, { entries: new Map([["vision", "Text.\n"]]), logs: ["journal"] });
      return {
        connect: () => connectClient(place, [command("scriptorium"), "mcp", "--role", role, "--dir", root]),
        write: (client, n) => call(client, "append_log", { id: "journal", line: `mark-${n}.` }),
        kept: () => marksIn(readFileSync(join(root, "wiki/journal.md"), "utf8")),
      };
    },
  };
}

function commits(place: Place): Side {
  return {
    what: `scriptorium mcp, commit_entry to ${writes} entries`,
    ours: true,
    async fresh() {
      const ids = numbers.map((n) => `e${n}`);
      const { root } = await newWorkspace(place, { entries: new Map(ids.map((id) => [id, "Text.\n"])) });
      return {
        connect: () => connectClient(place, [command("scriptorium"), "mcp", "--role", role, "--dir", root]),
        write: (client, n) => call(client, "commit_entry", { id: ids[n], content: `mark-${n}.\n`, version: 1 }),
        kept: () => marksIn(ids.map((id) => readFileSync(join(root, `wiki/${id}.md`), "utf8")).join("\n")),
      };
    },
  };
}

const marksIn = (text: string) => numbers.filter((n) => text.includes(`mark-${n}.`)).length;

async function call(client: Client, name: string, args: Record<string, unknown>): Promise<boolean> {
  const answer = await client.callTool({ name, arguments: args });
  return answer.isError !== true;
}

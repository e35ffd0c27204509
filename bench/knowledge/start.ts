import { medianOfRounds, ratioOfRounds, timed } from "../support/measure.ts";
import { command, type Place, succeed } from "../support/place.ts";
import { atMost, type Row, type Table } from "../support/table.ts";
import { proseWriter } from "../support/text.ts";
import { newWorkspace, role } from "../support/workspace.ts";
import { connectClient, memoryServer } from "./mcp-client.ts";

const rounds = 15;

type Ways = Record<string, () => Promise<unknown>>;

/** What an agent waits for each time it calls a command, and once when it connects over MCP. */
export async function coldStart(place: Place): Promise<Table[]> {
  const prose = proseWriter(1);
  const entries = new Map(["vision", "design", "notes"].map((id) => [id, prose(4096)]));
  const { root, open } = await newWorkspace(place, { entries, logs: ["decisions"] });
  await (await open()).close();

  const alone = await commandTable(place, root, "no server", 2.5);
  const mcp = await connectTable(place, root);
  await serve(place, root);
  return [alone, await commandTable(place, root, "a server runs", 2), mcp];
}

async function commandTable(place: Place, root: string, beside: string, limit: number): Promise<Table> {
  const run = (...args: string[]) => succeed(place.start(process.execPath, args, { cwd: root }));
  const times = await inTurn({
    "node -e 0": () => run("-e", "0"),
    "scribe fetch-entry": () => run(command("scribe"), "fetch-entry", "--role", role, "--id", "vision"),
    "scribe append-log": () => run(command("scribe"), "append-log", "--role", role, "--id", "decisions", "--line", "x"),
    "scriptorium entry read": () => run(command("scriptorium"), "entry", "read", "vision"),
  });
  const node = times.get("node -e 0") ?? [];
  const rows = [...times].map(([what, found]): Row => {
    const ratio = ratioOfRounds(found, node);
    const target = what === "scribe fetch-entry" ? { target: atMost(limit, ratio, "× node") } : {};
    return { what, figures: { "median ms": medianOfRounds(found), "× node": ratio }, ...target };
  });
  return { question: `Cold start of a command, ${beside} (median of ${rounds}, in turn)`, rows };
}

/** From the start of the process until `initialize` is answered, and until the first list of tools. */
async function connectTable(place: Place, root: string): Promise<Table> {
  const ours = [command("scriptorium"), "mcp", "--role", role, "--dir", root];
  const connected = async (args: string[], env: Record<string, string>, list: boolean) => {
    const client = await connectClient(place, args, env);
    if (list) await client.listTools();
    return client;
  };
  const reference = memoryServer(place);
  const sides: [string, string[], Record<string, string>][] = [
    ["MCP reference memory", reference.args, reference.env],
    ["scriptorium mcp", ours, {}],
  ];
  const ways: Ways = Object.fromEntries(
    sides.flatMap(([name, args, env]) => [
      [`${name}, initialize`, () => connected(args, env, false)],
      [`${name}, initialize and tools/list`, () => connected(args, env, true)],
    ]),
  );
  const times = await inTurn(ways, (client) => (client as Awaited<ReturnType<typeof connected>>).close());
  const peer = times.get("MCP reference memory, initialize") ?? [];
  const rows = [...times].map(([what, found]): Row => {
    const ratio = ratioOfRounds(found, peer);
    const target = what === "scriptorium mcp, initialize" ? { target: atMost(1, ratio, "× reference") } : {};
    return { what, figures: { "median ms": medianOfRounds(found), "× reference": ratio }, ...target };
  });
  return { question: `MCP over stdio (median of ${rounds}, in turn)`, rows };
}

/** Times each way once per round. What a way returns is closed outside the measured time. */
async function inTurn(
  ways: Ways,
  close: (made: unknown) => unknown = () => undefined,
): Promise<Map<string, number[][]>> {
  const found = new Map(Object.keys(ways).map((what): [string, number[][]] => [what, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [what, way] of Object.entries(ways)) {
      let made: unknown;
      found.get(what)?.push([
        await timed(async () => {
          made = await way();
        }),
      ]);
      await close(made);
    }
  }
  return found;
}

/** Starts `scriptorium serve` and waits for its first line, after which it answers `scribe`. */
function serve(place: Place, root: string): Promise<void> {
  const server = place.start(process.execPath, [command("scriptorium"), "serve", "--port", "0", "--json"], {
    cwd: root,
  });
  return new Promise((ready, fail) => {
    server.stdout?.once("data", () => ready());
    server.once("close", (code) => fail(new Error(`scriptorium serve ended (${code})`)));
  });
}

import { medianOfRounds, ratioOfRounds, timed } from "../support/measure.ts";
import { command, type Place, succeed } from "../support/place.ts";
import type { Table } from "../support/table.ts";
import { proseWriter } from "../support/text.ts";
import { newWorkspace, role } from "../support/workspace.ts";

const rounds = 15;

/** What an agent waits for each time it calls a command. */
export async function coldStart(place: Place): Promise<Table[]> {
  const prose = proseWriter(1);
  const entries = new Map(["vision", "design", "notes"].map((id) => [id, prose(4096)]));
  const { root, open } = await newWorkspace(place, { entries, logs: ["decisions"] });
  await (await open()).close();

  const run = (...args: string[]) => succeed(place.start(process.execPath, args, { cwd: root }));
  const ways: Record<string, () => Promise<string>> = {
    "node -e 0": () => run("-e", "0"),
    "scribe fetch-entry": () => run(command("scribe"), "fetch-entry", "--role", role, "--id", "vision"),
    "scribe append-log": () => run(command("scribe"), "append-log", "--role", role, "--id", "decisions", "--line", "x"),
    "scriptorium entry read": () => run(command("scriptorium"), "entry", "read", "vision"),
  };
  const found = Object.keys(ways).map((): number[][] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, way] of Object.values(ways).entries()) found[index]?.push([await timed(way)]);
  }
  const node = found[0] ?? [];
  const rows = Object.keys(ways).map((what, index) => {
    const times = found[index] ?? [];
    return { what, figures: { "median ms": medianOfRounds(times), "× node": ratioOfRounds(times, node) } };
  });
  return [{ question: `Cold start of a command (median of ${rounds}, one after the other in turn)`, rows }];
}

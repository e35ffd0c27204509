import type { DestinationUse } from "../../kernel/destination-use.ts";
import type { SetupRow } from "../crew-tables.ts";
import type { Query } from "../database.ts";
import { type Parsed, parseColumns, stringifyColumns } from "../json-columns.ts";

type Json = { commands: string[][]; destinations: DestinationUse[] };
const empty: Json = { commands: [], destinations: [] };

export type SetupRecord = Parsed<SetupRow, Json>;

/** In the order in which they started. */
export async function setupsOf(query: Query, run: string): Promise<SetupRecord[]> {
  const rows = await query
    .selectFrom("setups")
    .selectAll()
    .where("run_id", "=", run)
    .orderBy("started_at")
    .orderBy("id")
    .execute();
  return rows.map((row) => parseColumns(row, empty));
}

export async function insertSetup(tx: Query, setup: SetupRecord): Promise<void> {
  await tx
    .insertInto("setups")
    .values(stringifyColumns<SetupRow, Json>(setup, empty) as SetupRow)
    .execute();
}

export type EndedSetup = Pick<SetupRecord, "state" | "ended_at" | "bytes" | "files" | "error" | "destinations">;

export async function endSetup(tx: Query, id: string, ended: EndedSetup): Promise<void> {
  await tx.updateTable("setups").set(stringifyColumns<SetupRow, Json>(ended, empty)).where("id", "=", id).execute();
}

/** Forgets the rows of a killed process that never ended: the same setup starts again. */
export const deleteUnfinishedSetups = (tx: Query, run: string, hash: string) =>
  tx.deleteFrom("setups").where("run_id", "=", run).where("hash", "=", hash).where("state", "=", "running").execute();

import { parseJsonOr } from "./json.ts";

/** A row with its JSON columns parsed. */
export type Parsed<Row, Json> = Omit<Row, keyof Json> & Json;

/** Parses the JSON columns that `fallback` names. A damaged or empty column gets the fallback, like a damaged row (T29). */
export function parseColumns<Row extends object, Json extends object>(row: Row, fallback: Json): Parsed<Row, Json> {
  const columns = { ...row } as Record<string, unknown>;
  for (const [name, otherwise] of Object.entries(fallback)) {
    const text = columns[name];
    const value = typeof text === "string" ? parseJsonOr(text, otherwise) : otherwise;
    columns[name] = Array.isArray(otherwise) && !Array.isArray(value) ? otherwise : value;
  }
  return columns as Parsed<Row, Json>;
}

/** The inverse, for an insert or an update of some columns. */
export function stringifyColumns<Row extends object, Json extends object>(
  change: Partial<Parsed<Row, Json>>,
  fallback: Json,
): Partial<Row> {
  const columns: Record<string, unknown> = { ...change };
  for (const name of Object.keys(fallback)) {
    const value = columns[name];
    if (value !== undefined && value !== null) columns[name] = JSON.stringify(value);
  }
  return columns as Partial<Row>;
}

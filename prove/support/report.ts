import { failed, type Outcome, type Table } from "./proof.ts";

export type Run = { date: string; commit: string; command: string; node: string; outcomes: Outcome[] };

const header = ["promise", "tries", "violations"];

const rowOf = (outcome: Outcome) => {
  const note = outcome.note ? ` (${outcome.note})` : "";
  const missing = outcome.tries === 0 ? "0: nothing was tried, so this counts as a failure" : String(outcome.tries);
  return [`${outcome.promise}${note}`, missing, outcome.error ? "proof failed to run" : String(outcome.violations)];
};

/** The tables for a terminal. */
export const tables = (outcomes: Outcome[]): string =>
  [
    aligned([header, ...outcomes.map(rowOf)]),
    ...outcomes.flatMap(({ table }) => (table ? `\n${table.title}\n${aligned([table.header, ...table.rows])}` : [])),
  ].join("\n");

function aligned(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: string[]) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ");
  return rows.map((row) => line(row).trimEnd()).join("\n");
}

/** Every violation with its detail, one a line. */
export const failures = (outcomes: Outcome[]): string[] =>
  outcomes
    .filter(failed)
    .flatMap(({ name, tries, violations, details, error }) => [
      ...(error ? [`${name}: failed to run: ${error}`] : []),
      ...(tries === 0 ? [`${name}: made no try`] : []),
      ...details.map((detail) => `${name}: ${detail}`),
      ...(violations > details.length ? [`${name}: ${violations - details.length} more violations`] : []),
    ]);

export function page({ date, commit, command, node, outcomes }: Run): string {
  const found = failures(outcomes);
  return [
    "# Proof",
    "",
    "`npm run prove` attacks the promises below through the commands as they ship, with real processes, git and databases, and writes this page. A try is one check; a violation is a try that contradicts the promise. [CONTRIBUTING.md](../CONTRIBUTING.md) describes how to add a proof.",
    "",
    `- Date: ${date}`,
    `- Commit: ${commit}`,
    `- Command: \`${command}\``,
    `- Platform: ${node}`,
    "",
    cells(header),
    "|---|---|---|",
    ...outcomes.map((outcome) => cells(rowOf(outcome))),
    "",
    ...outcomes.flatMap(({ table }) => (table ? pageTable(table) : [])),
    "## Violations",
    "",
    ...(found.length > 0 ? found.map((line) => `- ${line.replace(/\s+/g, " ")}`) : ["None."]),
    "",
  ].join("\n");
}

const cells = (row: string[]) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

const pageTable = ({ title, about, header, rows }: Table): string[] => [
  `## ${title}`,
  "",
  about,
  "",
  cells(header),
  `|${header.map(() => "---").join("|")}|`,
  ...rows.map(cells),
  "",
];

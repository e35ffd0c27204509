import type { Context } from "../support/proof.ts";
import type { Verdict } from "./history.ts";

type More = { restarts: number; zombies: number; forgotten: number };

/** Clients and tasks that did not go on. */
type Waiting = { clients: string[]; tasks: string[] };

/** One row: a fault on an engine, over all its rounds. */
type Row = {
  faults: number;
  recovered(ms: number, waiting: Waiting): void;
  add(verdict: Verdict, more: More): void;
  failed(why: string): void;
};

export type Totals = { row(engine: string, fault: string): Row; show(): void };

const header = [
  "fault",
  "engine",
  "faults",
  "acknowledged writes",
  "lost",
  "doubled",
  "late effects",
  "out of order",
  "processes and tasks that needed a person",
  "seconds until work went on (median, max)",
  "unknown answers",
  "own exits",
  "zombie writes",
];

export function totalsOf(context: Context, recoveryMs: number): Totals {
  const rows = new Map<string, ReturnType<typeof newRow>>();
  return {
    row(engine, fault) {
      const key = `${engine}, ${fault}`;
      const row = rows.get(key) ?? newRow(context, key, engine, fault, recoveryMs);
      rows.set(key, row);
      return row;
    },
    show() {
      const all = [...rows.values()];
      const faults = all.reduce((sum, row) => sum + row.faults, 0);
      const acknowledged = all.reduce((sum, row) => sum + row.sum.acknowledged, 0);
      context.note(`${faults} faults, ${acknowledged} acknowledged writes`);
      context.table({ title: "Failover", about, header, rows: all.map((row) => row.cells()) });
    },
  };
}

const about =
  "Clients on two servers and two workers write while a fault happens; a history checker compares every operation with what the database holds. PostgreSQL has a standby, and every host is a network namespace; SQLite has one server and two workers on one host. Seconds count from the fault, or from its end if it lasts, until every client had an operation acknowledged and every task that was held went on; they were measured on a shared machine, so they are upper bounds. Processes that ended by themselves (own exits) were started again after half a second, as systemd does. A write is unknown when its answer was lost or promised nothing. A zombie write was sent under a claim and answered after another worker had the task.";

function newRow(context: Context, key: string, engine: string, fault: string, recoveryMs: number) {
  const sum = { acknowledged: 0, unknown: 0, lost: 0, doubled: 0, late: 0, unordered: 0, persons: 0 };
  const more: More = { restarts: 0, zombies: 0, forgotten: 0 };
  const times: number[] = [];
  let problem: string | undefined;
  return {
    faults: 0,
    sum,
    recovered(ms: number, waiting: Waiting) {
      times.push(ms);
      const processes = new Set(waiting.clients.map((client) => client.split("-")[0]));
      sum.persons += processes.size + waiting.tasks.length;
      const names = [...waiting.clients, ...waiting.tasks];
      context.check(names.length === 0, `${key}: ${names.join(", ")} did not work again within ${recoveryMs / 1000} s`);
    },
    add(verdict: Verdict, { restarts, zombies, forgotten }: More) {
      sum.acknowledged += verdict.acknowledged;
      sum.unknown += verdict.unknown;
      for (const kind of ["lost", "doubled", "late", "unordered"] as const) sum[kind] += verdict[kind].length;
      more.restarts += restarts;
      more.zombies += zombies;
      more.forgotten += forgotten;
    },
    failed(why: string) {
      problem = why;
    },
    cells(): string[] {
      if (this.faults === 0 && !problem)
        return [fault, engine, "0: not reached in this time", ...header.slice(3).map(() => "")];
      if (problem) return [fault, engine, `could not run: ${problem}`, ...header.slice(3).map(() => "")];
      const lost =
        more.forgotten > 0 ? `${sum.lost} beyond the ${more.forgotten} that PostgreSQL lost` : String(sum.lost);
      const sorted = [...times].sort((a, b) => a - b);
      const seconds = (ms = 0) => (ms / 1000).toFixed(1);
      return [
        fault,
        engine,
        String(this.faults),
        String(sum.acknowledged),
        lost,
        ...[sum.doubled, sum.late, sum.unordered, sum.persons].map(String),
        `${seconds(sorted[Math.floor(sorted.length / 2)])}, ${seconds(sorted.at(-1))}`,
        ...[sum.unknown, more.restarts, more.zombies].map(String),
      ];
    },
  };
}

import * as z from "zod";
import { ok, type Result } from "../../kernel/result.ts";
import { noSuch } from "../../store/no-such.ts";
import { type FigureRows, figureRows } from "../../store/queries/figures.ts";
import type { CrewApp } from "../record/crew-app.ts";

const names = [
  "deduplication_rate",
  "context_lifespan",
  "claim_efficiency",
  "error_propagation",
  "retrieval_precision",
  "handoff_completeness",
  "retry_rate",
  "lock_contention",
  "claim_latency",
  "worker_idle_time",
] as const;

const figure = z.object({
  name: z.enum(names),
  value: z.number().nullable().describe("Null when there is nothing yet to count"),
  unit: z.enum(["share", "milliseconds"]),
  target: z.string().nullable(),
  met: z.boolean().nullable(),
  counted: z.string().describe("What it was counted from"),
});
export type Figure = z.infer<typeof figure>;

const schema = z.object({ run: z.string().nullable(), figures: z.array(figure) });

/** The value of a figure in words. */
export const spelled = ({ name, value, unit }: Figure): string => {
  if (value === null) return name === "deduplication_rate" ? "nothing repeated" : "–";
  return unit === "share" ? `${(value * 100).toFixed(1)} %` : `${value.toFixed(value < 10 ? 1 : 0)} ms`;
};

/** The ten figures of O15. Pure: the same rows, the same figures. */
export function figures(rows: FigureRows): Figure[] {
  const { contexts, attempts, tasks, workers } = rows;
  const repeats = sum(contexts, (row) => row.repeat_characters);
  const removed = sum(contexts, (row) => row.removed_characters);
  const lives = (part: string) =>
    contexts
      .filter((row) => row.part === part && row.ended_at)
      .map((row) => Date.parse(row.ended_at ?? "") - Date.parse(row.started_at));
  const workerLife = longest(lives("worker"));
  const pmLife = longest(lives("pm"));
  const over = attempts.filter((row) => row.phase !== "worker_executing");
  const kept = over.filter((row) => row.phase !== "abandoned");
  const accepted = tasks.filter((row) => row.state === "completed");
  const wrong = accepted.filter((task) => turnedOutWrong(task, rows.verdicts));
  const tried = new Set(kept.map((row) => row.task_id));
  const precision = cited(rows);
  const claims = sum(workers, (row) => row.claims);
  const conflicts = sum(workers, (row) => row.conflicts);
  const idle = sum(workers, (row) => row.idle_ms);
  const time = idle + sum(workers, (row) => row.busy_ms);
  return [
    share(
      "deduplication_rate",
      removed,
      repeats,
      ">=",
      0.8,
      repeats === 0
        ? "no agent would have been sent the same text again"
        : `${removed} of ${repeats} characters that would have been sent again were not`,
    ),
    {
      name: "context_lifespan",
      value: workerLife,
      unit: "milliseconds",
      target: "workers < 5 min, planner < 60 min",
      met: workerLife === null ? null : workerLife < 5 * 60_000 && (pmLife ?? 0) < 60 * 60_000,
      counted: `the longest of all workers, ${lives("worker").length}; planner ${pmLife === null ? "not on record" : `${pmLife} ms`}`,
    },
    share(
      "claim_efficiency",
      kept.length,
      over.length,
      ">",
      0.95,
      `${kept.length} of ${over.length} claims led to an attempt that ended`,
    ),
    share(
      "error_propagation",
      wrong.length,
      accepted.length,
      "<",
      0.05,
      `${wrong.length} of ${accepted.length} accepted tasks turned out wrong later`,
    ),
    share(
      "retrieval_precision",
      precision.cited,
      precision.retrieved,
      ">",
      0.9,
      `${precision.cited} of ${precision.retrieved} nodes and entries that were retrieved were used`,
    ),
    share(
      "handoff_completeness",
      tasks.length - Math.min(rows.questions, tasks.length),
      tasks.length,
      null,
      0,
      `questions: ${rows.questions}; tasks: ${tasks.length}`,
    ),
    share(
      "retry_rate",
      kept.length - tried.size,
      tried.size,
      "<",
      0.2,
      `retries: ${kept.length - tried.size}; tasks tried: ${tried.size}`,
    ),
    share(
      "lock_contention",
      conflicts,
      claims + conflicts,
      "<",
      0.01,
      `${conflicts} of ${claims + conflicts} claims met another worker`,
    ),
    { ...latency(workers), name: "claim_latency", unit: "milliseconds", target: "P99 < 50 ms" },
    share("worker_idle_time", idle, time, "<", 0.05, `${idle} of ${time} ms`),
  ];
}

type Sign = "<" | ">" | ">=" | null;

function share(name: Figure["name"], part: number, whole: number, sign: Sign, target: number, counted: string): Figure {
  const value = whole === 0 ? null : part / whole;
  const met =
    value === null || sign === null
      ? null
      : sign === "<"
        ? value < target
        : sign === ">"
          ? value > target
          : value >= target;
  return {
    name,
    value,
    unit: "share",
    target: sign === null ? null : `${sign} ${Math.round(target * 100)} %`,
    met,
    counted,
  };
}

function latency(workers: FigureRows["workers"]): Pick<Figure, "value" | "met" | "counted"> {
  const some = workers.filter((row) => row.claims > 0);
  const worst = longest(some.map((row) => row.claim_p99_ms));
  const middle = longest(some.map((row) => row.claim_p50_ms));
  return {
    value: worst,
    met: worst === null ? null : worst < 50,
    counted: `the slowest of the pools, ${some.length} in all; P50 ${middle?.toFixed(1) ?? "–"} ms`,
  };
}

/** True if its verdict was voided after it was accepted, or a later verdict found the fault in it. */
function turnedOutWrong(task: FigureRows["tasks"][number], verdicts: FigureRows["verdicts"]): boolean {
  const own = verdicts.filter((row) => row.task_id === task.task_id);
  if (own.some((row) => row.outcome === "PASS" && row.voided_at !== null)) return true;
  return verdicts.some(
    (row) =>
      row.run_id === task.run_id &&
      row.task_id !== task.task_id &&
      row.outcome === "FAIL" &&
      row.caused_by.includes(task.number),
  );
}

/** FigureRows run by run: what one run retrieved, another may cite, but that says nothing about either search. */
function cited({ calls, attempts, plans }: FigureRows): { cited: number; retrieved: number } {
  const runs = new Set([...calls.map((row) => row.run_id)]);
  let [used, brought] = [0, 0];
  for (const run of runs) {
    const retrieved = new Set(
      calls.filter((row) => row.run_id === run).flatMap((row) => row.retrieved.map(thingCited)),
    );
    const said = [
      ...attempts.filter((row) => row.run_id === run).flatMap((row) => row.cites),
      ...(plans.find((one) => one.run === run)?.cites ?? []),
    ];
    const cites = new Set(said.map(thingCited));
    brought += retrieved.size;
    used += [...retrieved].filter((id) => cites.has(id)).length;
  }
  return { cited: used, retrieved: brought };
}

/** Agents cite `vision`, `entry:vision` or `[[entry:vision#L3]]`: the same thing. */
const thingCited = (cite: string) =>
  cite
    .replace(/^\[\[|\]\]$/g, "")
    .replace(/#L\d+$/, "")
    .replace(/^entry:/, "");

const sum = <T>(rows: T[], of: (row: T) => number) => rows.reduce((total, row) => total + of(row), 0);
const longest = (values: number[]): number | null => (values.length === 0 ? null : Math.max(...values));

/** The figures of one run, or of all. */
export const metricsOf = {
  schema,
  async of(app: CrewApp, run?: string): Promise<Result<z.infer<typeof schema>>> {
    if (run !== undefined && !(await app.runs.find(run))) return noSuch(app.db.read, "run", run);
    return ok({ run: run ?? null, figures: figures(await figureRows(app.db.read, run)) });
  },
};

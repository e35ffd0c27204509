import type { Query } from "../database.ts";
import { parseJsonOr } from "../json.ts";

const over = ["completed", "failed", "cancelled"];

/** The states of a task between two stages of an attempt. */
export type StageState = "worker_completed" | "qc_passed" | "qc_failed";

type WaitingTask = { id: string; state: string };

/** Tasks of running runs that wait between two stages, not for a person, and have no holder; oldest first. */
export const betweenStages = (
  query: Query,
  run: string | undefined,
  states: readonly StageState[],
  limit: number,
  skips: readonly string[] = [],
): Promise<WaitingTask[]> =>
  query
    .selectFrom("tasks")
    .innerJoin("runs", "runs.id", "tasks.run")
    .select(["tasks.id", "tasks.state"])
    .where("runs.state", "=", "running")
    .where("tasks.state", "in", states)
    .where("tasks.holder", "is", null)
    .where((x) =>
      x.or([
        x("tasks.state", "=", "qc_failed"),
        x.and([
          x.not(
            x.exists(
              x
                .selectFrom("held_files")
                .select("held_files.hash")
                .whereRef("held_files.task_id", "=", "tasks.id")
                .where("held_files.decision", "is", null),
            ),
          ),
          x.or([
            x("tasks.state", "<>", "qc_passed"),
            x.not(
              x.exists(
                x
                  .selectFrom("gates")
                  .select("gates.epoch")
                  .whereRef("gates.task_id", "=", "tasks.id")
                  .where("gates.decision", "is", null),
              ),
            ),
          ]),
        ]),
      ]),
    )
    .$if(run !== undefined, (q) => q.where("runs.id", "=", run ?? ""))
    .$if(skips.length > 0, (q) => q.where("runs.id", "not in", skips))
    .orderBy("tasks.num")
    .limit(limit)
    .execute();

/** `taken`: a person took the task over, and has not handed it back. */
export type WaitingForPerson = {
  id: string;
  number: string;
  holder: string | null;
  why: "files" | "gate" | "question" | "taken";
};

/** The tasks of a run that wait for a person, if no other task can go on before that. */
export async function waitingForPerson(query: Query, run: string): Promise<WaitingForPerson[]> {
  const [files, gates] = await Promise.all(
    (["held_files", "gates"] as const).map(async (table) =>
      query.selectFrom(table).select("task_id").where("run_id", "=", run).where("decision", "is", null).execute(),
    ),
  );
  const held = new Set(files?.map(({ task_id }) => task_id));
  const gated = new Set(gates?.map(({ task_id }) => task_id));
  const open = await query
    .selectFrom("tasks")
    .innerJoin("run_tasks", "run_tasks.task_id", "tasks.id")
    .select(["tasks.id", "tasks.holder", "tasks.blockers_left", "tasks.state", "tasks.result"])
    .select(["run_tasks.number", "run_tasks.on_reject"])
    .where("tasks.run", "=", run)
    .where("tasks.state", "not in", over)
    .where("tasks.lost_blockers", "=", 0)
    .orderBy("tasks.num")
    .execute();
  const whyOf = ({
    id,
    holder,
    state,
    result,
    on_reject,
  }: (typeof open)[number]): WaitingForPerson["why"] | undefined => {
    if (holder !== null) return state === "worker_executing" && takenBy(result) === holder ? "taken" : undefined;
    if (state === "qc_failed") return undefined;
    if (held.has(id)) return "files";
    if (!gated.has(id) || state !== "qc_passed") return undefined;
    return on_reject === null ? "gate" : "question";
  };
  const isStuck = open.every((task) => whyOf(task) !== undefined || (task.holder === null && task.blockers_left > 0));
  return isStuck
    ? open.flatMap((task) => {
        const why = whyOf(task);
        return why ? [{ id: task.id, number: task.number, holder: task.holder, why }] : [];
      })
    : [];
}

const takenBy = (result: string) => parseJsonOr<{ taken_by?: string }>(result, {}).taken_by;

/** The open tasks of a run, in the order of the plan. */
export const openTasks = async (query: Query, run: string): Promise<string[]> =>
  (
    await query
      .selectFrom("tasks")
      .select("id")
      .where("run", "=", run)
      .where("state", "not in", over)
      .orderBy("num")
      .execute()
  ).map((row) => row.id);

/** Tasks of one run, or of all, that are held. */
export const heldIn = (
  query: Query,
  run: string | undefined,
): Promise<{ id: string; epoch: number; holder: string | null }[]> =>
  query
    .selectFrom("tasks")
    .select(["id", "epoch", "holder"])
    .where("run", "is not", null)
    .where("holder", "is not", null)
    .$if(run !== undefined, (q) => q.where("run", "=", run ?? ""))
    .execute();

/** How many tasks of a run are open and how many are lost; a task behind a lost one is lost too. */
export async function restOf(query: Query, run: string): Promise<{ open: number; lost: number; all: number }> {
  const rows = await query.selectFrom("tasks").select(["state", "lost_blockers"]).where("run", "=", run).execute();
  const open = rows.filter((row) => !over.includes(row.state) && row.lost_blockers === 0).length;
  return { open, lost: rows.filter((row) => row.state !== "completed").length - open, all: rows.length };
}

export const stateOfRun = async (query: Query, run: string): Promise<string | undefined> =>
  (await query.selectFrom("runs").select("state").where("id", "=", run).executeTakeFirst())?.state;

/** Running runs, oldest first. */
export const runningRuns = async (query: Query): Promise<string[]> =>
  (await query.selectFrom("runs").select("id").where("state", "=", "running").orderBy("created_at").execute()).map(
    (row) => row.id,
  );

/** The process that executes or plans a run. `until`: the end of its lease; null while none is recorded. */
export type Carried = {
  run: string;
  state: "running" | "planning";
  by: string;
  carrier: string;
  until: number | null;
};

/** Runs that are executed or planned, with their creator and the process that does it. */
export const carriedRuns = async (query: Query): Promise<Carried[]> => {
  const rows = await query
    .selectFrom("runs")
    .select(["id", "state", "created_by", "carried_by", "carrier_until"])
    .where("state", "in", ["running", "planning"])
    .where("carried_by", "<>", "")
    .orderBy("created_at")
    .execute();
  return rows.map(({ id, state, created_by: by, carried_by, carrier_until: until }) => ({
    ...{ run: id, state: state as Carried["state"], by, carrier: carried_by ?? "" },
    until: until === null ? null : Number(until),
  }));
};

type Held = Pick<Carried, "run" | "state" | "carrier">;

/** Renews a carrier's lease, or ends it with 0; false if another process has the run, or its state is another. */
export async function renewCarrier(tx: Query, { run, state, carrier }: Held, until: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("runs")
    .set({ carrier_until: until })
    .where("id", "=", run)
    .where("carried_by", "=", carrier)
    .where("state", "=", state)
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}

/** Renews the leases of running runs that no single process executes: of one, or of all. */
export const renewShared = (tx: Query, run: string | undefined, until: number) =>
  tx
    .updateTable("runs")
    .set({ carrier_until: until })
    .where("state", "=", "running")
    .where("carried_by", "like", "%/shared")
    .$if(run !== undefined, (q) => q.where("id", "=", run ?? ""))
    .execute();

/** Takes a run over from the carrier that was read; false if it was renewed or taken over since. */
export async function takeCarrier(tx: Query, read: Carried, carrier: string, until: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("runs")
    .set({ carried_by: carrier, carrier_until: until, reason: null })
    .where("id", "=", read.run)
    .where("carried_by", "=", read.carrier)
    .where("carrier_until", read.until === null ? "is" : "=", read.until)
    .where("state", "=", read.state)
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}

/** Records leases for what processes of earlier versions carry without one. */
export async function startLeases(tx: Query, until: number): Promise<void> {
  await tx
    .updateTable("runs")
    .set({ carrier_until: until })
    .where("state", "in", ["running", "planning"])
    .where("carried_by", "<>", "")
    .where("carrier_until", "is", null)
    .execute();
  await tx
    .updateTable("plan_changes")
    .set({ process_until: until })
    .where("state", "=", "drafting")
    .where("process", "<>", "")
    .where("process_until", "is", null)
    .execute();
}

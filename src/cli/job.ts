import { Command } from "@commander-js/extra-typings";
import type { App } from "../app.ts";
import { cancelJob, listJobs, showJob, startJob } from "../jobs/operations.ts";
import type { JobQueue } from "../jobs/queue.ts";
import type { Caller } from "../kernel/caller.ts";
import { ok, type Result } from "../kernel/result.ts";
import { allOperations } from "../operation-list.ts";
import { type Common, localPerson, print, report, withApp } from "./session.ts";
import { shell } from "./shell.ts";
import { bold, table, when } from "./text.ts";

type Value<T extends { perform(...args: never[]): Promise<unknown> }> = Extract<
  Awaited<ReturnType<T["perform"]>>,
  { ok: true }
>["value"];
type Whole = Value<typeof showJob>;
type Line = Value<typeof listJobs>["jobs"][number];

export const jobCommand = (common: () => Common) =>
  new Command("job")
    .description("have the agent work on a topic or a perspective")
    .addCommand(
      new Command("start")
        .description(startJob.summary)
        .requiredOption("--kind <kind>", "incorporate (with --topic) or perspective (with --source and --persona)")
        .option("--topic <id>", "the topic to turn into a proposal or an answer")
        .option("--source <path>", "the page; a topic knows its own")
        .option("--persona <name>", "whom to re-tell the page for")
        .option("--wait", "until the job is over; exit 0 only when it succeeded")
        .addHelpText(
          "after",
          "\nWithout a server the job runs in this process, which then stays until it is over; Ctrl-C ends it.",
        )
        .action(({ kind, topic, source, persona, wait }) =>
          withApp(common(), async (app) => {
            const input = { kind, topic_id: topic, source_path: source, persona_name: persona };
            await startHere(app, common(), (caller) => startJob.perform(app, input, caller), wait ?? false);
          }),
        ),
    )
    .addCommand(
      new Command("list")
        .description(listJobs.summary)
        .option("--source <path>", "only jobs of this page")
        .option("--limit <n>", "how many at the most", Number)
        .action(({ source, limit }) =>
          report(common(), listJobs, { source_path: source, limit }, { text: listed, json: (found) => found.jobs }),
        ),
    )
    .addCommand(
      new Command("show")
        .description(showJob.summary)
        .argument("<id>")
        .action((id) => report(common(), showJob, { id }, described)),
    )
    .addCommand(
      new Command("cancel")
        .description(cancelJob.summary)
        .argument("<id>")
        .action((id) =>
          report(common(), cancelJob, { id }, (job) =>
            job.status === "running" ? `${id} is being ended` : `${id} was cancelled`,
          ),
        ),
    );

/** A server takes the job over; without one this process is all there is to run it. */
export async function startHere(
  app: App,
  options: Common,
  start: (caller: Caller) => Promise<Result<{ job_id: string }>>,
  wait: boolean,
): Promise<void> {
  const caller = await localPerson(app);
  const { serverIsUp } = await import("../jobs/presence.ts");
  const served = serverIsUp(app.config.stateFolder);
  const opened = served ? ok(undefined) : await openOwnQueue(app);
  if (!opened.ok) return print(options, opened, () => "");
  const queue = opened.value;
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  try {
    const started = await start(caller);
    if (!started.ok || (served && !wait)) return print(options, started, ({ job_id }) => `${job_id} is queued`);
    await jobIsOver(app, started.value.job_id, interrupted.signal);
    await queue?.stop();
    print(options, await ended(app, started.value.job_id, caller), {
      text: described,
      json: (job) => ({ job_id: job.id, ...job }),
    });
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
    await queue?.stop();
  }
}

/** What runs agents is loaded only here: every other command starts without it. */
async function openOwnQueue(app: App): Promise<Result<JobQueue>> {
  const [{ setUpAgent }, { openQueue }, { openToolSocket }] = await Promise.all([
    import("../agents/setup.ts"),
    import("../jobs/queue.ts"),
    import("../agents/tool-socket.ts"),
  ]);
  const setup = setUpAgent(app.config);
  if (!setup.ok) return setup;
  const deps = { setup: setup.value, operations: allOperations, serveTools: openToolSocket, adopts: false };
  return ok(await openQueue(app, deps));
}

async function ended(app: App, id: string, caller: Parameters<typeof showJob.perform>[2]): Promise<Result<Whole>> {
  const job = await showJob.perform(app, { id }, caller);
  if (job.ok && job.value.status !== "succeeded") shell().exitCode = 1;
  return job.ok ? ok(job.value) : job;
}

const lookMs = 5000;

/** Looks when the database changes, and now and then for a process that died. */
function jobIsOver(app: App, id: string, interrupted: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const look = async () => {
      const job = await app.jobs.find(id);
      if (!job || job.completed_at || interrupted.aborted) return finish();
    };
    const sweep = async () => {
      const job = await app.jobs.find(id);
      if (job) await app.jobs.sweep({ source: job.source_path });
      await look();
    };
    const stopListening = app.db.onChange(() => void look().catch(fail));
    const timer = setInterval(() => void sweep().catch(fail), lookMs);
    const finish = () => {
      stopListening();
      clearInterval(timer);
      interrupted.removeEventListener("abort", finish);
      done();
    };
    interrupted.addEventListener("abort", finish);
    look().catch(fail);
  });
}

function listed({ jobs }: { jobs: Line[] }): string {
  if (jobs.length === 0) return "no jobs; start one with: scriptorium job start --kind incorporate --topic <id>";
  return table([
    ["id", "status", "kind", "page", "for", "at"],
    ...jobs.map((job) => [
      job.id,
      job.status,
      job.kind,
      job.source_path,
      job.topic_id ?? job.persona_name ?? "",
      when(job.created_at),
    ]),
  ]);
}

const described = (job: Whole) =>
  [
    bold(`${job.kind} ${job.source_path}`),
    `${job.id}, ${job.status}, asked for by ${job.created_by} at ${when(job.created_at)}`,
    ...(job.message ? [job.message] : []),
    ...(job.duration_ms === null ? [] : [`took ${(job.duration_ms / 1000).toFixed(1)} s${spent(job)}`]),
    ...(job.error_tail ? ["", job.error_tail.trimEnd(), ""] : []),
    ...(job.log ? [`all it said: ${job.log}`] : []),
  ].join("\n");

function spent({ usage, cost_usd }: Whole): string {
  const tokens = usage.output_tokens === null ? "" : `, ${usage.output_tokens} output tokens`;
  return `${tokens}${cost_usd === null ? "" : `, $${cost_usd.toFixed(4)}`}`;
}

import { Command } from "@commander-js/extra-typings";
import type { App } from "../app.ts";
import { cancelJob, listJobs, showJob, startJob } from "../jobs/operations.ts";
import type { JobQueue } from "../jobs/queue.ts";
import { jobTranscript } from "../jobs/transcript-operations.ts";
import type { Caller } from "../kernel/caller.ts";
import { ok, type Result } from "../kernel/result.ts";
import { stopSignals } from "../kernel/stop-signals.ts";
import { allOperations } from "../operation-list.ts";
import { watchChanges } from "../store/wait-for-change.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, localPerson, print, report, withApp } from "./session.ts";
import { shell } from "./shell.ts";
import { bold, table, when } from "./text.ts";

type JobDetails = OutputOf<typeof showJob>;
type Line = OutputOf<typeof listJobs>["jobs"][number];

export const jobCommand = (common: () => Common) =>
  new Command("job")
    .description("run jobs: an agent turns a topic into a proposal, writes a perspective or checks a passage")
    .addCommand(
      new Command("start")
        .description(startJob.summary)
        .requiredOption(
          "--kind <kind>",
          "incorporate (with --topic), perspective (with --source and --persona) or recheck (with --source and --passage)",
        )
        .option("--topic <id>", "topic to turn into a proposal or an answer")
        .option("--source <path>", "the page (default: the page of the topic)")
        .option("--persona <name>", "persona to write the page for")
        .option("--passage <id>", "passage to check, as shown by `trust show`")
        .option("--wait", "wait until the job ends; exit code 0 only if it succeeded")
        .addHelpText(
          "after",
          "\nWithout a running server, the job runs in this process, which exits when the job ends; Ctrl-C cancels the job.",
        )
        .action(({ kind, topic, source, persona, passage, wait }) =>
          withApp(common(), async (app) => {
            const input = { kind, topic_id: topic, source_path: source, persona_name: persona, passage };
            const once = app.idempotency.once(common().idempotencyKey);
            await startHere(app, common(), (caller) => startJob.perform(app, input, caller, once), wait ?? false);
          }),
        ),
    )
    .addCommand(
      new Command("list")
        .description(listJobs.summary)
        .option("--source <path>", "only jobs of this page")
        .option("--limit <n>", "maximum number", Number)
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
      new Command("transcript")
        .description(jobTranscript.summary)
        .argument("<id>")
        .option("--cursor <cursor>", "only entries after the one with this cursor")
        .option("--limit <n>", "maximum number of entries, at most 200", Number)
        .option("--characters <n>", "maximum length of one text", Number)
        .action((id, { cursor, limit = 200, characters }) =>
          report(common(), jobTranscript, { id, cursor: cursor ?? "0", limit, characters }, ({ entries }) =>
            entries.map(entryText).join("\n\n"),
          ),
        ),
    )
    .addCommand(
      new Command("cancel")
        .description(cancelJob.summary)
        .argument("<id>")
        .action((id) =>
          report(common(), cancelJob, { id }, (job) =>
            job.status === "running" ? `${id} is being cancelled` : `${id} cancelled`,
          ),
        ),
    );

type TranscriptEntry = OutputOf<typeof jobTranscript>["entries"][number];

const entryText = ({ kind, at, tool, ok: isOk, system, text, input, output }: TranscriptEntry) =>
  [
    `${bold(`${kind.replace("_", " ")}${tool ? ` ${tool}` : ""}${isOk === false ? " (refused)" : ""}`)} ${when(at)}`,
    ...[system, text, input, output].filter((one) => one !== undefined && one !== ""),
  ].join("\n");

/** A running server takes the job over; otherwise this process runs it. */
export async function startHere(
  app: App,
  options: Common,
  start: (caller: Caller) => Promise<Result<{ job_id: string }>>,
  wait: boolean,
): Promise<void> {
  const caller = await localPerson(app, options);
  const { serverIsUp } = await import("../jobs/presence.ts");
  const served = serverIsUp(app.config.stateFolder);
  const opened = served ? ok(undefined) : await openOwnQueue(app);
  if (!opened.ok) return print(options, opened, () => "");
  const queue = opened.value;
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  for (const signal of stopSignals) process.once(signal, interrupt);
  try {
    const started = await start(caller);
    if (!started.ok || (served && !wait)) return print(options, started, ({ job_id }) => `${job_id} is queued`);
    await jobEnd(app, started.value.job_id, interrupted.signal);
    await queue?.stop();
    print(options, await ended(app, started.value.job_id, caller), {
      text: described,
      json: (job) => ({ job_id: job.id, ...job }),
    });
  } finally {
    for (const signal of stopSignals) process.off(signal, interrupt);
    await queue?.stop();
  }
}

/** Imported dynamically, so that other commands start without the code that runs agents. */
async function openOwnQueue(app: App): Promise<Result<JobQueue>> {
  const [{ setUpAgent }, { openQueue }, { openToolSocket }] = await Promise.all([
    import("../agents/setup.ts"),
    import("../jobs/queue.ts"),
    import("../agents/tool-socket.ts"),
  ]);
  const setup = () => setUpAgent(app.config);
  const ready = setup();
  if (!ready.ok) return ready;
  const deps = { setup, operations: allOperations, serveTools: openToolSocket, adopts: false };
  return ok(await openQueue(app, deps));
}

async function ended(app: App, id: string, caller: Parameters<typeof showJob.perform>[2]): Promise<Result<JobDetails>> {
  const job = await showJob.perform(app, { id }, caller);
  if (job.ok && job.value.status !== "succeeded") shell().exitCode = 1;
  return job.ok ? ok(job.value) : job;
}

const sweepMs = 5000;

/** Resolves when the job has ended. Sweeps regularly, in case the process that runs it died. */
async function jobEnd(app: App, id: string, interrupted: AbortSignal): Promise<void> {
  const changes = watchChanges(app.db);
  interrupted.addEventListener("abort", changes.close, { once: true });
  let sweptAt = performance.now();
  try {
    while (!interrupted.aborted) {
      const seen = changes.count();
      const job = await app.jobs.find(id);
      if (!job || job.completed_at) return;
      await changes.after(seen, sweepMs);
      if (performance.now() - sweptAt < sweepMs) continue;
      sweptAt = performance.now();
      await app.jobs.sweep({ source: job.source_path });
    }
  } finally {
    interrupted.removeEventListener("abort", changes.close);
    changes.close();
  }
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
      job.topic_id ?? job.persona_name ?? job.passage ?? "",
      when(job.created_at),
    ]),
  ]);
}

const described = (job: JobDetails) =>
  [
    bold(`${job.kind} ${job.source_path}`),
    `${job.id}, ${job.status}, started by ${job.created_by} at ${when(job.created_at)}`,
    ...(job.message ? [job.message] : []),
    ...(job.duration_ms === null ? [] : [`took ${(job.duration_ms / 1000).toFixed(1)} s${spent(job)}`]),
    ...destinationLines(job),
    ...(job.error_tail ? ["", job.error_tail.trimEnd(), ""] : []),
    ...(job.log ? [`full log: ${job.log}`] : []),
  ].join("\n");

function destinationLines({ destinations }: JobDetails): string[] {
  return (destinations ?? []).map(({ destination, allowed, reason, requests }) => {
    const what = allowed ? `network: ${destination}` : `network: ${destination} refused`;
    return `${what}, ${requests} ${requests === 1 ? "request" : "requests"}${reason ? `; ${reason}` : ""}`;
  });
}

function spent({ usage, cost_usd }: JobDetails): string {
  const tokens = usage.output_tokens === null ? "" : `, ${usage.output_tokens} output tokens`;
  return `${tokens}${cost_usd === null ? "" : `, $${cost_usd.toFixed(4)}`}`;
}

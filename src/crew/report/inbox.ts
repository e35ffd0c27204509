import { stat } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { waitingItems } from "../../config/trust-items.ts";
import { type Caller, kindOf, nameOf } from "../../kernel/caller.ts";
import { operation, people } from "../../kernel/operation.ts";
import { ok } from "../../kernel/result.ts";
import { knownNames } from "../../people/names.ts";
import { listedProposal, withPending } from "../../review/proposals/operations.ts";
import { waitingTopics } from "../../review/topics/unread.ts";
import { storeClock } from "../../store/clock.ts";
import type { RunRow } from "../../store/crew-tables.ts";
import { assigneesOf } from "../../store/queries/assignments.ts";
import { waitingGates } from "../../store/queries/gates.ts";
import { waitingFiles } from "../../store/queries/held-files.ts";
import { failedRuns, lastChangesOf, runsThatWait, startersOf, tasksOfRun } from "../../store/queries/runs.ts";
import { titlesOf } from "../../store/queries/titles.ts";
import { openersOf } from "../../store/queries/topics.ts";
import { stateShape } from "../../trust/shown.ts";
import { whyStalled } from "../record/carrier.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { openChanges } from "../record/plan-changes.ts";
import { isForPerson } from "./for-you.ts";
import { gateLine, shownGate } from "./gates.ts";
import { heldFiles, shownFiles } from "./held-files.ts";
import { budget, question, runLine, stoppedBy } from "./show.ts";

/** Everything that waits for a person, in one place: the page, its badge and the command show the same. */
export const inbox = operation({
  name: "inbox",
  summary:
    "Show what waits for a person: proposals, passages to check again, agents' questions, plan changes, held files, results to approve, stopped, stalled and failed runs, settings, and topics for you.",
  effect: "reads",
  reads: ["proposal", "topic", "job", "run", "task", "question", "setting", "notice", "user", "token", "trust"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/inbox" },
  input: z.object({}),
  output: z.object({
    waiting: z.int().describe("Number of decisions"),
    waiting_for_you: z.int().describe("Number of those decisions that are for you, and of topics"),
    for_you: z
      .array(z.string())
      .describe(
        "What is for you: ids of proposals, runs, plan changes and tasks, names of settings, recheck:<path of a page>. An item is for the assignee of its topic, else for the person who opened the topic or started the run; if none of them can decide, for everybody who can.",
      ),
    topics: z
      .array(
        z.object({
          id: z.string(),
          source_path: z.string(),
          opening: z.string(),
          reason: z.enum(["assigned", "mentioned"]),
          by: z.string(),
          at: z.string(),
        }),
      )
      .describe("Open topics that are assigned to you, or mention you in a message that you have not read"),
    proposals: z.array(listedProposal),
    runs: z
      .array(
        runLine.extend({
          reason: z.string().nullable(),
          stopped_by: stoppedBy,
          stalled: z
            .boolean()
            .describe("True if no process executes or plans the run, although it is running or being planned"),
          waiting_since: z.string().describe("When its oldest open question was asked, or else when its state changed"),
          budget,
          questions: z.array(question),
        }),
      )
      .describe("Stopped, failed, stalled and waiting runs with their reason, and runs with open questions"),
    plan_changes: z
      .array(
        z.object({
          id: z.string(),
          run: z.string(),
          title: z.string(),
          tasks: z.array(z.string()),
          reason: z.string().nullable(),
          proposed_at: z.string().nullable(),
        }),
      )
      .describe("Changes of plans that the planner proposes for failed tasks"),
    files: z.array(heldFiles).describe("Files of tasks that instruct agents or run programs unasked"),
    gates: z
      .array(gateLine)
      .describe(
        "Verified results, which a person approves or returns, and questions of plans, which they approve or reject",
      ),
    recheck: z
      .array(
        z.object({
          source_path: z.string(),
          count: z.int().describe("Passages of the page that lost their trust"),
          state: stateShape.describe("State of the newest"),
          passage: z.string(),
          text: z.string(),
          cause: z.string(),
          since: z.string(),
        }),
      )
      .describe("Pages with passages that lost their trust, each with its newest loss; list_trust lists all passages"),
    settings: z
      .array(
        z.object({
          name: z.string(),
          keys: z.array(z.string()),
          changed_at: z.string().nullable().describe("When the file with these settings was last changed"),
        }),
      )
      .describe("Settings of the repository that nobody has allowed on this machine"),
  }),
  async run(app: CrewApp, _input, caller) {
    const person = nameOf(caller);
    const [proposals, waiting, failed, changes, held, gates, untrusted, topics, recheck] = await Promise.all([
      app.proposals.list("open"),
      runsThatWait(app.db.read, whyStalled(await storeClock(app.db.read, app.db.engine))),
      failedRuns(app.db.read),
      openChanges(app),
      waitingFiles(app.db.read),
      waitingGates(app.db.read),
      waitingItems(app.config),
      waitingTopics(app, person),
      app.trust.recheck(),
    ]);
    const found = [
      ...waiting,
      ...(await Promise.all(
        failed.map(async (run) => ({ run: await explained(app, run), questions: [], isStalled: false })),
      )),
    ];
    const changedAt = await lastChangesOf(
      app.db.read,
      found.map(({ run }) => run.id),
    );
    const runs = found.map(({ run, questions, isStalled }) => ({
      id: run.id,
      state: run.state,
      title: run.title,
      created_by: run.created_by,
      created_at: run.created_at,
      ended_at: run.ended_at,
      reason: run.reason,
      stalled: isStalled,
      waiting_since: questions[0]?.at ?? run.ended_at ?? changedAt.get(run.id) ?? run.created_at,
      stopped_by: run.stopped_by,
      questions,
      budget: { tokens: run.budget_tokens, usd: run.budget_usd },
    }));
    const items = [
      ...runs.map(({ id, state, stalled, questions }) => ({
        ...{ id, run: id, count: questions.length + (stalled || ["stopped", "failed"].includes(state) ? 1 : 0) },
      })),
      ...proposals.map(({ id }) => ({ id, run: null, count: 1 })),
      ...changes.map(({ id, run_id: run }) => ({ id, run, count: 1 })),
      ...[...held, ...gates].map(({ task_id: id, run_id: run }) => ({ id, run, count: 1 })),
      ...recheck.map(({ source_path }) => ({ id: `recheck:${source_path}`, run: null, count: 1 })),
      ...untrusted.map(({ item }) => ({ id: item.name, run: null, count: 1 })),
    ];
    const runIds = items.flatMap(({ run }) => (run === null ? [] : [run]));
    const forYou = items.filter(await responsibility(app, caller, proposals, runIds));
    const total = (of: typeof items) => of.reduce((sum, { count }) => sum + count, 0);
    const titles = await titlesOf(
      app.db.read,
      topics.map(({ id }) => `topic:${id}`),
    );
    return ok({
      waiting: total(items),
      waiting_for_you: total(forYou) + topics.length,
      for_you: [...new Set(forYou.map(({ id }) => id))],
      topics: topics.map(({ path: source_path, ...topic }) => ({
        ...{ ...topic, source_path, opening: titles.get(`topic:${topic.id}`)?.title ?? "" },
      })),
      proposals: proposals.map((one) => withPending(app, one)),
      runs,
      plan_changes: changes.map(({ id, run_id: run, title, wanted: tasks, reason, proposed_at }) => ({
        ...{ id, run, title, tasks, reason, proposed_at },
      })),
      files: held.map(shownFiles),
      gates: gates.map(shownGate),
      settings: await Promise.all(
        untrusted.map(async ({ item, changes }) => ({
          name: item.name,
          keys: changes.map(({ key }) => key),
          changed_at: await changeTimeOf(join(app.config.root, item.name)),
        })),
      ),
      recheck,
    });
  },
});

const changeTimeOf = async (file: string): Promise<string | null> =>
  stat(file).then(
    ({ mtime }) => mtime.toISOString(),
    () => null,
  );

/** Says of an item whether it is for the caller. Readers decide nothing. */
async function responsibility(
  app: CrewApp,
  caller: Caller,
  proposals: readonly { id: string; topicId: string | null }[],
  runs: readonly string[],
): Promise<(item: { id: string; run: string | null }) => boolean> {
  if (kindOf(caller) === "reader") return () => false;
  const ids = proposals.flatMap(({ topicId: id }) => (id === null ? [] : [id]));
  const [names, openers, assignees, starters] = await Promise.all([
    knownNames(app),
    openersOf(app.db.read, ids),
    assigneesOf(
      app.db.read,
      ids.map((id) => `topic:${id}`),
    ),
    startersOf(app.db.read, runs),
  ]);
  const deciders = new Set(names.flatMap((one) => (one.kind === "person" && one.rank !== "reader" ? [one.name] : [])));
  const ofProposal = new Map(
    proposals.map(({ id, topicId: topic }) => [
      id,
      assignees.get(`topic:${topic}`) ?? openers.get(topic ?? "") ?? null,
    ]),
  );
  return ({ id, run }) =>
    isForPerson(nameOf(caller), run === null ? (ofProposal.get(id) ?? null) : (starters.get(run) ?? null), deciders);
}

/** The reason of a run that failed by its tasks has only their number; the causes say more. */
async function explained({ db }: CrewApp, run: RunRow): Promise<RunRow> {
  const failed = (await tasksOfRun(db.read, run.id)).filter(({ task }) => task.state === "failed");
  const causes = failed.map(({ number, failure }) => {
    const [cause = "see its record"] = (failure?.rootCauses[0]?.cause ?? "").split("\n", 1).filter((one) => one !== "");
    return `task ${number} failed: ${cause}`;
  });
  return causes.length === 0 ? run : { ...run, reason: causes.slice(0, mostCauses).join("; ") };
}

const mostCauses = 3;

import * as z from "zod";
import { destinationUse } from "../../kernel/destination-use.ts";
import { operation, people } from "../../kernel/operation.ts";
import { ok, refuse } from "../../kernel/result.ts";
import { snakeKeys } from "../../kernel/wire.ts";
import { agentReportsOf } from "../../store/queries/agent-reports.ts";
import { attemptsOf } from "../../store/queries/attempts.ts";
import { contextsOf, toolCallsOf } from "../../store/queries/contexts.ts";
import { questionsOf } from "../../store/queries/questions.ts";
import { runTask } from "../../store/queries/runs.ts";
import { steeringOf } from "../../store/queries/steering.ts";
import { checksOf, verdictsOf } from "../../store/queries/verdicts.ts";
import type { CrewApp } from "../record/crew-app.ts";
import { stepsOf } from "../record/steps.ts";
import { aboutFailure, reportKinds, sectionsText } from "../rules/agent-report.ts";
import { step } from "../rules/step.ts";
import { question } from "./show.ts";

const count = z.number().nullable();
const longestText = 20_000;

const check = z.object({ criterion: z.int(), passed: z.boolean(), detail: z.string(), ms: z.number() });
const verdict = z.object({
  verifier: z.string(),
  said: z.string(),
  outcome: z.string(),
  score: z.int(),
  feedback: z.string(),
  issues: z.array(z.unknown()),
  required_fixes: z.array(z.unknown()),
  evidence: z.array(z.unknown()),
  objections: z.array(z.unknown()),
  void_reason: z.string().nullable().describe("Why the verdict does not hold"),
  scratch: z.string().nullable().describe("Files that the verifier wrote to test the deliverable, as a patch"),
  at: z.string(),
});
const attempt = z.object({
  attempt: z.int(),
  epoch: z.int(),
  phase: z.string(),
  worker: z.string(),
  started_at: z.string(),
  ended_at: z.string().nullable(),
  retry_reason: z.string().nullable(),
  output: z.string().nullable().describe("Start of the submitted output"),
  statements: z.array(z.unknown()).describe("The worker's statements with their evidence"),
  decisions: z.array(z.unknown()),
  files_changed: z.array(z.unknown()),
  stopped_because: z.string().nullable(),
  steps: z.array(step).describe("The worker's own list of steps, as it last set it"),
  used: z.object({
    ms: count,
    input_tokens: count,
    output_tokens: count,
    tool_calls: count,
    context_tokens: count,
    usd: count,
  }),
  checks: z.array(check),
  verdicts: z.array(verdict),
});

export const taskRecord = operation({
  name: "task_record",
  summary: "Show the record of a run's task: attempts, checks, verdicts with evidence, contexts and tool calls.",
  effect: "reads",
  reads: ["task", "run", "attempt", "question"],
  callers: people,
  group: "tasks",
  http: { method: "get", path: "/tasks/{id}/record" },
  input: z.object({ id: z.string().max(64).describe("Id of the task") }),
  output: z.object({
    id: z.string(),
    run: z.string(),
    number: z.string(),
    requirements: z.array(z.unknown()),
    worker_role: z.string(),
    qc_role: z.string(),
    criteria: z.array(z.unknown()),
    failure: z
      .object({
        timeline: z.array(
          z.object({
            attempt: z.int(),
            at: z.string(),
            worker: z.string(),
            verifier: z.string().nullable(),
            score: z.number().nullable(),
            outcome: z.string(),
            reason: z.string(),
          }),
        ),
        scores: z.object({
          lowest: z.number().nullable(),
          highest: z.number().nullable(),
          average: z.number().nullable(),
          progression: z.array(z.number()),
        }),
        root_causes: z.array(
          z.object({
            cause: z.string(),
            attempts: z.array(z.int()),
            output: z.string().optional().describe("End of what the failed check printed"),
          }),
        ),
        recommendations: z.array(z.string()),
      })
      .nullable(),
    reports: z
      .array(
        z.object({
          kind: z.enum(["qc_failure", "pm_failure"]),
          title: z.string(),
          part: z.string(),
          agent: z.string().nullable(),
          model: z.string().nullable(),
          content: z.string().nullable().describe("Markdown, written by an agent and not checked"),
          missing: z.string().nullable().describe("Why there is none"),
        }),
      )
      .describe("What agents wrote about the failure, from the record"),
    attempts: z.array(attempt),
    contexts: z.array(
      z.object({
        part: z.string(),
        agent: z.string(),
        runner: z.string(),
        model: z.string().nullable(),
        attempt: z.int().nullable(),
        tokens: z.number(),
        parts: z.array(z.object({ name: z.string(), tokens: z.number() })),
        destinations: z
          .array(destinationUse)
          .nullable()
          .describe("Where the agent connected to, or tried to; null for agents that are not sandboxed programs"),
        compactions: z
          .array(z.object({ call: z.int(), characters: z.int(), removed: z.array(z.string()) }))
          .describe("What was removed from its conversation to fit into the context of its model"),
      }),
    ),
    calls: z.array(
      z.object({
        tool: z.string(),
        part: z.string(),
        ok: z.boolean(),
        ms: z.number(),
        bytes: z.number(),
        at: z.string(),
      }),
    ),
    questions: z.array(question.omit({ task: true })),
    steering: z
      .array(
        z.object({
          id: z.string(),
          content: z.string(),
          sent_by: z.string(),
          sent_at: z.string(),
          delivered: z
            .enum(["turn", "tool_result", "context"])
            .nullable()
            .describe("Between two turns, with a tool result, or in the context of an attempt; null if not yet"),
          delivered_at: z.string().nullable(),
          attempt: z.int().nullable().describe("The attempt that got it"),
        }),
      )
      .describe("Messages of people to the worker"),
  }),
  async run(app: CrewApp, { id }) {
    const query = app.db.read;
    const row = await runTask(query, id);
    if (!row) return refuse("not_found", `task ${id} belongs to no run; its own page has all there is`);
    const of = { task: id };
    const [attempts, verdicts, contexts, calls, questions, reports, steering, steps] = await Promise.all([
      attemptsOf(query, of),
      verdictsOf(query, of),
      contextsOf(query, of),
      toolCallsOf(query, of),
      questionsOf(query, of),
      agentReportsOf(query, of),
      steeringOf(query, id),
      stepsOf(query, id),
    ]);
    const lastEpoch = attempts.findLast(({ phase }) => phase !== "abandoned")?.epoch ?? 0;
    const checks = await Promise.all(attempts.map(({ epoch }) => checksOf(query, id, epoch)));
    return ok({
      id,
      run: row.run_id,
      number: row.number,
      requirements: row.requirements === "" ? [] : [row.requirements],
      worker_role: row.worker_role,
      qc_role: row.qc_role,
      criteria: row.criteria,
      failure: row.failure === null ? null : snakeKeys(row.failure),
      reports: reports
        .filter(({ about }) => about === aboutFailure(id, lastEpoch))
        .flatMap(({ kind, part, agent, model, content, missing }) =>
          kind === "final"
            ? []
            : {
                ...{ kind, part, agent, model, missing, title: reportKinds[kind].title },
                content: content && sectionsText(content),
              },
        ),
      attempts: attempts.map((one, at) => ({
        attempt: one.attempt,
        epoch: one.epoch,
        phase: one.phase,
        worker: one.worker,
        started_at: one.started_at,
        ended_at: one.ended_at,
        retry_reason: one.retry_reason,
        output: one.output?.slice(0, longestText) ?? null,
        statements: one.claims,
        decisions: one.decisions,
        files_changed: one.files_changed,
        stopped_because: one.stopped_because,
        steps: steps.get(one.epoch) ?? [],
        used: {
          ms: one.duration_ms,
          input_tokens: one.input_tokens,
          output_tokens: one.output_tokens,
          tool_calls: one.tool_calls,
          context_tokens: one.context_tokens,
          usd: one.cost_usd,
        },
        checks: (checks[at] ?? []).map(({ criterion, passed, detail, duration_ms }) => ({
          criterion,
          passed: passed === 1,
          detail: detail.slice(0, 2000),
          ms: Number(duration_ms),
        })),
        verdicts: verdicts
          .filter(({ epoch }) => epoch === one.epoch)
          .map((said) => ({
            verifier: said.verifier,
            said: said.said,
            outcome: said.outcome,
            score: said.score,
            feedback: said.feedback,
            issues: said.issues,
            required_fixes: said.required_fixes,
            evidence: said.evidence,
            objections: said.objections,
            void_reason: said.void_reason,
            scratch: said.scratch,
            at: said.at,
          })),
      })),
      contexts: contexts.map(({ part, agent, runner, model, attempt, tokens, parts, destinations, compactions }) => ({
        part,
        agent,
        runner,
        model,
        attempt,
        tokens: Number(tokens),
        parts: parts.map(({ name, tokens }) => ({ name, tokens })),
        destinations,
        compactions,
      })),
      calls: calls.slice(-200).map(({ name, part, ok, duration_ms, output_bytes, at }) => ({
        tool: name,
        part,
        ok: ok === 1,
        ms: Number(duration_ms),
        bytes: Number(output_bytes),
        at,
      })),
      steering: steering.map(({ id, content, sent_by, sent_at, delivered, delivered_at, epoch }) => ({
        ...{ id, content, sent_by, sent_at, delivered, delivered_at },
        attempt: attempts.find((one) => one.epoch === epoch)?.attempt ?? null,
      })),
      questions: questions.map(({ id, question, asked_by, at, answer, answered_by, passed_on }) => ({
        ...{ id, question, asked_by, at, answer, answered_by, passed_on },
      })),
    });
  },
});

import { type Script, scriptedRunner } from "../agents/scripted.ts";
import type { CrewPart } from "../kernel/caller.ts";
import { ok } from "../kernel/result.ts";
import type { CrewAgents } from "./record/run-host.ts";
import type { PlanTask } from "./rules/plan.ts";

/** The two runs in the history of the example workspace. */
export const finishedRequest = "Explain parked scans to support: what they are, and what to tell a caller.";
export const failingRequest = "Write down how many webhooks a second we can send before the peak in November.";

type Use = (name: string, input: Record<string, unknown>) => Promise<Record<string, unknown>>;

const task = (number: string, title: string, requirements: string, more: Partial<PlanTask> = {}): PlanTask => ({
  number,
  title,
  requirements,
  worker_role: "A technical writer who knows the handbook",
  qc_role: "A reader who was not there",
  verification: [],
  execution: ["read_file the pages that are named", "write the text"],
  max_retries: 1,
  estimated_tool_calls: 6,
  depends_on: number === "0" ? [] : ["0"],
  files: [],
  deliverable: "text",
  notes: "",
  ...more,
});

const supportPage = "docs/support/parked-scans.md";

const finished = {
  title: "Parked scans for support",
  summary: "First the facts from the handbook, then the page, then the announcement.",
  assumptions: ["Support reads in English and has no access to the database"],
  tasks: [
    task("0", "Collect the facts", "Read services/ingest and list every reason for parking a scan.", {
      verification: [{ criterion: "All four reasons are named" }],
    }),
    task("1.1", "Write the page for support", `Write ${supportPage}: what parked means, and one answer for callers.`, {
      deliverable: "files",
      files: [supportPage],
      verification: [
        { criterion: "The page exists", check: { file: supportPage, exists: true } },
        { criterion: "The page has a sentence that can be read to a caller" },
      ],
    }),
    task("1.2", "Announce the page", "Write two sentences for the support channel.", {
      depends_on: ["1.1"],
      verification: [{ criterion: "The announcement says where the page is" }],
    }),
  ],
};

const failing = {
  title: "Webhook rate before the peak",
  summary: "Find the measured rate, then state the limit.",
  assumptions: ["The trial in October measured it"],
  tasks: [
    task("0", "Find the measurement", "Find the rate of the October trial in the handbook and the sources.", {
      verification: [{ criterion: "The place of the measurement is named, or that there is none" }],
    }),
    task("1.1", "State the limit", "State the number of webhooks a second, with the measurement that shows it.", {
      verification: [{ criterion: "The number comes from a measurement that is cited" }],
    }),
    task("1.2", "Tell shippers", "Write the sentence about the limit for the tracking API.", {
      depends_on: ["1.1"],
      verification: [{ criterion: "The sentence has the number" }],
    }),
  ],
};

const replanned = {
  tasks: [
    task("1.1", "Describe the measurement", "Describe how to measure the rate: receiver, duration, what is counted.", {
      verification: [{ criterion: "Someone else could run it from the description" }],
    }),
    task("1.3", "State what is known", "State the known limits: ten seconds a try, 24 hours of retries.", {
      verification: [{ criterion: "Each limit cites its page" }],
    }),
  ],
  reason:
    "No measurement exists, so a number would be a guess. The first task now describes how to measure; the second states the limits that the handbook has.",
  splits: [{ task: "1.1", into: ["1.1", "1.3"] }],
};

const page = (isComplete: boolean) =>
  `# Parked scans\n\nA parked scan has arrived and is waiting, because something about it cannot be right: its time is in\nthe future, its code or parcel is unknown, or it cannot be read. Nothing is lost.\n${
    isComplete
      ? "\n## What to tell a caller\n\n> Your parcel was scanned, and we are checking the time of that scan. It will show within the hour.\n\nMore than a few callers for one carrier? Tell whoever is on call: it may be an incident.\n"
      : ""
  }`;

const output = (use: Use, text: string, decisions: string[] = []) =>
  use("submit_output", { output: text, statements: [], decisions });

type Work = (use: Use, told: string) => Promise<unknown>;

const workers: Record<string, Work> = {
  "Collect the facts": (use) =>
    output(use, "Scans are parked for four reasons: future_time, unknown_code, unknown_parcel and unreadable."),
  async "Write the page for support"(use) {
    // The second attempt starts from the files of the first.
    const { files } = await use("list_files", { under: "docs" });
    await use("write_file", { path: supportPage, content: page((files as string[]).includes(supportPage)) });
    await output(use, "Wrote the page for support.", ["The page for support names no tables, so that it stays true"]);
  },
  "Announce the page": (use) =>
    output(use, `A new page explains parked scans: ${supportPage}. It has a sentence that you can read to callers.`),
  "Find the measurement": (use) =>
    output(use, "There is no measurement: the October trial measured the duration of single tries, not a rate."),
  "State the limit": (use) => output(use, "We can send about 50 webhooks a second."),
};

type Verdict = { met: boolean; quote: string; feedback: string; from?: "output" | "file"; fix?: string };

const verdict = ({ met, feedback, fix }: Verdict, evidence: object[]) => ({
  ...{ verdict: met ? "PASS" : "FAIL", score: met ? 92 : 40, feedback, evidence },
  ...(met ? {} : { issues: [feedback], required_fixes: [fix ?? "cite the source"] }),
});

const verifiers: Record<string, (use: Use) => Promise<Record<string, unknown>>> = {
  "Collect the facts": async () =>
    verdict({ met: true, quote: "", feedback: "All four reasons of services/ingest are there." }, [
      seen(1, "future_time, unknown_code, unknown_parcel and unreadable"),
    ]),
  async "Write the page for support"(use) {
    const { content } = await use("read_file", { path: supportPage });
    const met = String(content).includes("What to tell a caller");
    const feedback = met
      ? "The page is short and has a sentence for callers."
      : "The page explains parking, but has nothing to read to a caller.";
    const quote = met ? "Your parcel was scanned" : "Nothing is lost.";
    return verdict({ met, quote, feedback, fix: "add one sentence that can be read to a caller" }, [
      { criterion: 1, met: true, quote: supportPage, from: "check", ref: "" },
      { criterion: 2, met, quote, from: "file", ref: supportPage },
    ]);
  },
  "Announce the page": async () =>
    verdict({ met: true, quote: "", feedback: "It says what is new and where." }, [seen(1, supportPage)]),
  "Find the measurement": async () =>
    verdict({ met: true, quote: "", feedback: "The answer is clear: it was not measured." }, [
      seen(1, "There is no measurement"),
    ]),
  "State the limit": async () =>
    verdict(
      {
        met: false,
        quote: "",
        feedback: "50 a second is a guess: no page and no source has a measured rate.",
        fix: "cite the measurement that the number comes from",
      },
      [seen(1, "about 50 webhooks a second", false)],
    ),
};

const seen = (criterion: number, quote: string, met = true) => ({ criterion, met, quote, from: "output", ref: "" });

const titleIn = (prompt: string, known: object) => Object.keys(known).find((title) => prompt.includes(title)) ?? "";

/** The crew of the example's history: agents that follow a script and call no model. */
export function exampleAgents(): CrewAgents {
  const parts: Partial<Record<CrewPart, Script>> = {
    async pm(spec) {
      const use = using(spec);
      const isReplan = spec.tools?.delivers === "propose_plan";
      if (isReplan) {
        const { tasks, ...rest } = replanned;
        await use("add_plan_tasks", { tasks });
        await use("propose_plan", rest);
        return undefined;
      }
      const { tasks, ...head } = spec.prompt.includes(finishedRequest) ? finished : failing;
      await use("add_plan_tasks", { tasks });
      await use("finish_plan", head);
      return undefined;
    },
    async worker(spec) {
      await workers[headingOf(spec.prompt, workers)]?.(using(spec), spec.prompt);
      return undefined;
    },
    async qc(spec) {
      const use = using(spec);
      const judged = await verifiers[headingOf(spec.prompt, verifiers)]?.(use);
      if (judged) await use("submit_verdict", judged);
      return undefined;
    },
  };
  return (part) => {
    const runner = scriptedRunner(parts[part] ?? (async () => undefined));
    return ok({ runner, model: undefined, role: roles[part] ?? "engineer", env: {} });
  };
}

const roles: Partial<Record<CrewPart, string>> = { pm: "planner", qc: "architect" };

/** The task is named in the first heading of the prompt. */
const headingOf = (prompt: string, known: object) =>
  titleIn(/^# .*$/m.exec(prompt)?.[0] ?? "", known) || titleIn(prompt, known);

function using(spec: Parameters<Script>[0]): Use {
  return async (name, input) => {
    const result = await spec.tools?.call(name, input);
    if (!result?.ok) throw new Error(`the example's ${name} was refused: ${result?.problem.message ?? "no tools"}`);
    return result.value as Record<string, unknown>;
  };
}

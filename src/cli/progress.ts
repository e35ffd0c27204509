import type { News } from "../crew/record/run-host.ts";
import type { Common } from "./session.ts";
import { writeOut } from "./shell.ts";
import { bold, dim, green, inertly, json, plural, red, yellow } from "./text.ts";

type Out = { write(text: string): unknown; isTTY?: boolean; columns?: number; rows?: number };

/** Shows the progress of a run: JSON events, plain lines, or a table redrawn in place on a terminal. */
export function progress(common: Common, out: Out): { tell(news: News): void; end(): void } {
  if (common.json)
    return {
      tell: (news) => void writeOut(`${json({ at: new Date().toISOString(), ...news })}\n`),
      end: () => undefined,
    };
  if (!out.isTTY) return { tell: (news) => void writeOut(`${lineOf(inertly(news))}\n`), end: () => undefined };
  return picture(out);
}

export function lineOf(news: News): string {
  const who = news.number === undefined ? "" : `task ${news.number}`;
  const nth = news.attempt === undefined ? "" : `, attempt ${news.attempt}`;
  const why = news.reason ? `: ${oneLine(news.reason)}` : "";
  switch (news.kind) {
    case "run-started":
      return `${news.run} started: ${news.title ?? ""}`;
    case "run-taken-over":
      return `${news.run} was taken over: no process executed it`;
    case "run-waits":
      return `${news.run} waits${why}`;
    case "database-lost":
      return `the database does not answer${why}. Agents go on, and what they deliver is saved when it answers again`;
    case "plan-changed":
      return `the plan of ${news.run} changed:\n${news.reason ?? ""}`;
    case "setup-started":
      return `setup started: ${news.title ?? ""}`;
    case "setup-finished":
      return `setup ${news.outcome}: ${news.title ?? ""}${why}`;
    case "attempt-started":
      return `${who}${nth} started: ${news.title ?? ""}`;
    case "worker-completed":
      return `${who}${nth} delivered ${plural(news.files ?? 0, "changed file")}${figures(news)}`;
    case "worker-failed":
      return `${who}${nth} failed${why}${figures(news)}`;
    case "checks-run":
      return `${who}${nth} passed ${news.checks?.passed} of ${plural(news.checks?.of ?? 0, "check")}`;
    case "qc-started":
      return `${who}${nth} is being verified`;
    case "verdict":
      return `${who}${nth} ${news.outcome}, score ${news.score}${why}`;
    case "gate-reached":
      return `${who}${nth} waits for the approval of a person: scriptorium task approve ${news.task ?? ""}`;
    case "accepted":
      return `${who} accepted: ${news.title ?? ""}`;
    case "merge-conflict":
      return `${who}${nth} has a merge conflict${why}`;
    case "retry":
      return `${who} will be retried${why}`;
    case "given-up":
      return `${who} failed${why}`;
    case "agent-reminded":
    case "model-not-used":
    case "model-retry":
      return `${who === "" ? "" : `${who}: `}${news.reason ?? ""}`;
    case "report-started":
      return `an agent writes the ${news.title ?? "report"}${news.task === undefined ? "" : ` on ${news.task}`}`;
    case "released":
      return `${who} was released${why}`;
  }
}

const oneLine = (text: string) => {
  const [first = ""] = text.trim().split("\n");
  return first.length > 200 ? `${first.slice(0, 199)}…` : first;
};

const figures = ({ tokens, usd }: News) =>
  [tokens == null ? "" : `, ${tokens} tokens`, usd == null ? "" : `, $${usd.toFixed(4)}`].join("");

const troubles = new Set<News["kind"]>(["agent-reminded", "model-retry", "model-not-used"]);
const wholeLines = new Set<News["kind"]>(["database-lost", "setup-started"]);

type Shown = { number: string; title: string; state: string; attempt: number; score: number | undefined };

/** Redraws tasks, attempts, scores, tokens, cost and time a few times a second. */
function picture(out: Out) {
  const began = Date.now();
  const tasks = new Map<string, Shown>();
  const sums = { tokens: 0, usd: 0, unknown: false };
  let drawn = 0;
  let title = "";
  /** Why a model call is being repeated; gone with the next news. */
  let trouble = "";
  let queued = false;

  function draw(): void {
    queued = false;
    const width = Math.max(40, (out.columns ?? 100) - 1);
    const room = Math.max(5, (out.rows ?? 30) - 4);
    const all = [...tasks.values()];
    const live = all.filter((task) => !["accepted", "failed"].includes(task.state));
    const lines = [...live, ...all.filter((task) => !live.includes(task)).reverse()].slice(0, room).map((task) => {
      const text = `${task.number.padEnd(6)} ${task.state.padEnd(14)} attempt ${task.attempt}${task.score === undefined ? "" : ` score ${task.score}`}  ${task.title}`;
      return paint(task.state)(text.slice(0, width));
    });
    const done = all.filter((task) => task.state === "accepted").length;
    const money = sums.usd > 0 ? `, $${sums.usd.toFixed(4)}` : "";
    const foot = `${done} accepted, ${live.length} in progress, ${sums.tokens} tokens${sums.unknown ? " and more" : ""}${money}, ${Math.round((Date.now() - began) / 1000)} s`;
    const text = [
      bold(title.slice(0, width)),
      ...lines,
      ...(trouble === "" ? [] : [yellow(oneLine(trouble).slice(0, width))]),
      dim(foot),
    ];
    out.write(`${drawn > 0 ? `\u001b[${drawn}A` : ""}${text.map((line) => `\u001b[2K${line}\n`).join("")}\u001b[0J`);
    drawn = text.length;
  }

  const later = () => {
    if (queued) return;
    queued = true;
    setTimeout(draw, 150).unref();
  };
  const clock = setInterval(later, 1000);
  clock.unref();
  return {
    tell(raw: News) {
      const news = inertly(raw);
      if (wholeLines.has(news.kind)) trouble = lineOf(news);
      else trouble = troubles.has(news.kind) ? (news.reason ?? "") : "";
      if (news.kind === "plan-changed") {
        // Stays above the table, which is drawn again below it.
        out.write(`${lineOf(news)}\n`);
        drawn = 0;
      }
      if (news.kind === "run-started") title = `${news.run}: ${news.title ?? ""}`;
      if (news.tokens != null) sums.tokens += news.tokens;
      else if (news.kind === "worker-completed") sums.unknown = true;
      sums.usd += news.usd ?? 0;
      const state = stateAfter[news.kind];
      if (news.number !== undefined && state !== undefined) {
        const before = tasks.get(news.number);
        tasks.set(news.number, {
          number: news.number,
          title: news.title ?? before?.title ?? "",
          state,
          attempt: news.attempt ?? before?.attempt ?? 0,
          score: news.score ?? before?.score,
        });
      }
      later();
    },
    end() {
      clearInterval(clock);
      draw();
    },
  };
}

const stateAfter: Partial<Record<News["kind"], string>> = {
  "attempt-started": "in progress",
  "worker-completed": "submitted",
  "worker-failed": "attempt failed",
  "qc-started": "being verified",
  "checks-run": "being verified",
  verdict: "judged",
  "gate-reached": "needs approval",
  accepted: "accepted",
  "merge-conflict": "conflict",
  retry: "retrying",
  "given-up": "failed",
  released: "waiting",
};

const paint = (state: string) => {
  if (state === "accepted") return green;
  if (state === "failed" || state === "attempt failed" || state === "conflict") return red;
  return state === "waiting" ? dim : yellow;
};

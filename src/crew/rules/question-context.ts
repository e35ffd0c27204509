import { fenced } from "../../kernel/fenced.ts";
import { wholeTask } from "./agent-context.ts";
import type { Plan } from "./plan.ts";

export type AskedQuestion = {
  request: string;
  brief: string | null;
  plan: Plan;
  /** Number of the task that the question is about. */
  number: string;
  question: string;
  /** What was asked and answered in this run before. */
  answered: { number: string; question: string; answer: string }[];
};

/** The part of the plan that answers a question: the asking task with its notes, the others in one line each. */
export function questionContext({ request, brief, plan, number, question, answered }: AskedQuestion): string {
  const task = plan.tasks.find((one) => one.number === number);
  const others = plan.tasks.filter((one) => one !== task);
  return [
    `# Request\n\n${cut(request, 4000)}`,
    ...(brief === null ? [] : [`# Brief\n\n${cut(brief, 4000)}`]),
    [`# Plan: ${plan.title}`, cut(plan.summary, 3000), ...plan.assumptions.map((one) => `- assumed: ${one}`)].join(
      "\n",
    ),
    ...(task ? [cut(wholeTask(task), 10_000)] : []),
    ...(others.length === 0 ? [] : [`Other tasks:\n${others.map((one) => `- ${one.number} ${one.title}`).join("\n")}`]),
    ...answered
      .slice(-10)
      .map((one) => `Task ${one.number} asked: ${cut(one.question, 500)}\nAnswer: ${cut(one.answer, 1000)}`),
    `# Question of the worker on task ${number}\n\n${fenced("data from the worker", question)}`,
  ].join("\n\n");
}

const cut = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, most)}\n… (${text.length - most} characters left out)`;

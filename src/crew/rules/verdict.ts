import type { Evidence, Statement } from "../../store/crew-tables.ts";
import { passAt } from "../../tasks/transition.ts";
import type { Criterion } from "./plan.ts";

export const verifierSaysFail = "the verifier says FAIL";

export type CheckResult = { criterion: number; passed: boolean; detail: string; deliverableHash: string };

export type Said = {
  verdict: "PASS" | "FAIL";
  score: number;
  feedback: string;
  issues: string[];
  requiredFixes: string[];
  evidence: Evidence[];
};

type Case = {
  said: Said;
  criteria: Criterion[];
  checks: CheckResult[];
  /** The content that the verifier was given; checks count only on this content. */
  deliverableHash: string;
  deliverable: "files" | "text";
  output: string;
  worker: string;
  verifier: string;
};

export type Judged = { outcome: "PASS" | "FAIL"; objections: string[] };

/**
 * A PASS needs all of these: the verifier says PASS with a score of 80 or more, every deterministic check
 * passed on this content, every criterion has evidence, and another agent did the work. The deliverable
 * is never interpreted, so no text in it can talk its way to a PASS.
 */
export function judge(given: Case): Judged {
  const { said, criteria, checks, deliverableHash, worker, verifier } = given;
  const objections: string[] = [];
  if (worker === verifier) objections.push(`${verifier} cannot verify its own work`);
  if (said.verdict === "FAIL") objections.push(verifierSaysFail);
  if (!(said.score >= passAt)) objections.push(`a score of ${said.score} does not pass; the minimum is ${passAt}`);
  for (const [i, { criterion, check }] of criteria.entries()) {
    const number = i + 1;
    if (check) objections.push(...checked(number, criterion, checks, deliverableHash));
    const cited = said.evidence.filter((item) => item.criterion === number);
    if (cited.some((item) => !item.met)) objections.push(`criterion ${number} is not met: ${criterion}`);
    else if (!cited.some((item) => isEvidence(item, given)))
      objections.push(`no evidence for criterion ${number}: ${criterion}`);
  }
  return { outcome: objections.length === 0 ? "PASS" : "FAIL", objections };
}

function checked(number: number, criterion: string, checks: CheckResult[], hash: string): string[] {
  const result = checks.find((one) => one.criterion === number && one.deliverableHash === hash);
  if (!result) return [`criterion ${number} was not checked for this content: ${criterion}`];
  return result.passed ? [] : [`the check of criterion ${number} failed: ${result.detail}`];
}

/** A worker's words about its files are a claim, not evidence; if the deliverable is a text, the quote must be in it. */
function isEvidence(
  { quote, from, criterion }: Evidence,
  { deliverable, output, checks, deliverableHash }: Case,
): boolean {
  if (quote.trim() === "" || from.trim() === "") return false;
  if (from.trim().toLowerCase() === "output") return deliverable === "text" && loosely(output).includes(loosely(quote));
  if (from.trim().toLowerCase() !== "check") return true;
  return checks.some((one) => one.criterion === criterion && one.passed && one.deliverableHash === deliverableHash);
}

const loosely = (text: string) => text.replaceAll(/\s+/g, " ").trim().toLowerCase();

/** Statements without evidence in the record: an issue for the verifier (O10). */
export const unproven = (statements: Statement[], toolOutputs: Map<string, string>): string[] =>
  statements.filter((one) => !isProven(one, toolOutputs)).map((one) => one.statement);

/** Evidence from a recorded tool call must be in its answer; evidence from elsewhere is for the verifier to look up. */
function isProven({ evidence, from }: Statement, toolOutputs: Map<string, string>): boolean {
  if (evidence.trim() === "" || from.trim() === "") return false;
  const output = toolOutputs.get(from.trim());
  if (output !== undefined) return loosely(output).includes(loosely(evidence));
  return !/^call-/.test(from.trim());
}

/** Open topics as criteria, numbered after those of the plan. */
export const topicCriteria = (topics: string[]): Criterion[] =>
  topics.map((topic) => ({ criterion: `The open topic is answered: ${topic}` }));

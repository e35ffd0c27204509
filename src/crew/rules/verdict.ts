import type { Criterion } from "./plan.ts";

export const passAt = 80;
export const verifierSaysFail = "the verifier says FAIL";

/** Where the verifier saw what it says. `criterion` counts from 1, as the plan's file does. */
export type Evidence = { criterion: number; met: boolean; quote: string; from: string };

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
  /** The content that the verifier was given, and the content there is now. */
  judgedHash: string;
  currentHash: string;
  deliverable: "files" | "text";
  output: string;
  worker: string;
  verifier: string;
};

export type Judged = { outcome: "PASS" | "FAIL"; objections: string[] };

/**
 * PASS takes all of it: the verifier says so with a score of 80 or more, every deterministic check is
 * green on just this content, every criterion has evidence, and somebody else did the work. Nothing
 * here reads the deliverable for meaning: whatever it says about itself, it says to nobody.
 */
export function judge(given: Case): Judged {
  const { said, criteria, checks, currentHash, judgedHash, worker, verifier } = given;
  const objections: string[] = [];
  if (worker === verifier) objections.push(`${verifier} cannot verify its own work`);
  if (judgedHash !== currentHash) objections.push("the deliverable changed after it was judged");
  if (said.verdict === "FAIL") objections.push(verifierSaysFail);
  if (!(said.score >= passAt)) objections.push(`a score of ${said.score} does not pass; it takes ${passAt}`);
  for (const [i, { criterion, check }] of criteria.entries()) {
    const number = i + 1;
    if (check) objections.push(...checked(number, criterion, checks, currentHash));
    const cited = said.evidence.filter((item) => item.criterion === number);
    if (cited.some((item) => !item.met)) objections.push(`criterion ${number} is not met: ${criterion}`);
    else if (!cited.some((item) => isEvidence(item, given)))
      objections.push(`no evidence is cited for criterion ${number}: ${criterion}`);
  }
  return { outcome: objections.length === 0 ? "PASS" : "FAIL", objections };
}

function checked(number: number, criterion: string, checks: CheckResult[], hash: string): string[] {
  const result = checks.find((one) => one.criterion === number && one.deliverableHash === hash);
  if (!result) return [`criterion ${number} was not checked on this content: ${criterion}`];
  return result.passed ? [] : [`the check of criterion ${number} failed: ${result.detail}`];
}

/** The words a worker wrote about its files are a statement, not evidence; where the words are the deliverable they must be in it. */
function isEvidence({ quote, from, criterion }: Evidence, { deliverable, output, checks, currentHash }: Case): boolean {
  if (quote.trim() === "" || from.trim() === "") return false;
  if (from.trim().toLowerCase() === "output") return deliverable === "text" && loosely(output).includes(loosely(quote));
  if (from.trim().toLowerCase() !== "check") return true;
  return checks.some((one) => one.criterion === criterion && one.passed && one.deliverableHash === currentHash);
}

const loosely = (text: string) => text.replaceAll(/\s+/g, " ").trim().toLowerCase();

/** What a worker says it has done, with the evidence and where it was seen. */
export type Statement = { statement: string; evidence: string; from: string };

/** Statements for which the record holds no evidence: an issue for the verifier (O10). */
export const unproven = (statements: Statement[], toolOutputs: Map<string, string>): string[] =>
  statements.filter((one) => !isProven(one, toolOutputs)).map((one) => one.statement);

/** What names a recorded tool call must be in its answer; what names another place is for the verifier to look up. */
function isProven({ evidence, from }: Statement, toolOutputs: Map<string, string>): boolean {
  if (evidence.trim() === "" || from.trim() === "") return false;
  const output = toolOutputs.get(from.trim());
  if (output !== undefined) return loosely(output).includes(loosely(evidence));
  return !/^call-/.test(from.trim());
}

/** Open topics are to be met like the plan's own criteria, and numbered after them. */
export const topicCriteria = (topics: string[]): Criterion[] =>
  topics.map((topic) => ({ criterion: `The open topic is answered: ${topic}` }));

import type { Evidence, Statement } from "../../store/crew-tables.ts";
import { passAt } from "../../tasks/transition.ts";
import { type AbsenceFacts, notAbsent } from "./absence.ts";
import { type Facts, placeOf, unresolved, unresolvedEvidence } from "./evidence.ts";
import type { Criterion } from "./plan.ts";

export const verifierSaysFail = "the verifier says FAIL";
export const noFilesChanged = "the deliverable is files, but no file was changed";
/** The end of the reason that the system gives when it fails an attempt by itself. */
export const noneAsked = "so no verifier was started";

export type CheckResult = { criterion: number; passed: boolean; detail: string; deliverableHash: string };

export type Said = {
  verdict: "PASS" | "FAIL";
  score: number;
  feedback: string;
  issues: string[];
  requiredFixes: string[];
  evidence: Evidence[];
};

/** A FAIL that the system gives without asking a verifier. */
export type SystemFail = Said & { verdict: "FAIL"; objection: string };

type Case = {
  said: Said;
  criteria: Criterion[];
  checks: CheckResult[];
  /** The content that the verifier was given; checks count only on this content. */
  deliverableHash: string;
  deliverable: "files" | "text";
  filesChanged: string[];
  output: string;
  worker: string;
  verifier: string;
  /** The verifier's own tool calls, and what the delivered commit has of its citations. */
  seen: Seen;
};

export type Seen = Pick<AbsenceFacts, "calls" | "files" | "searches">;

/** Objections are about the deliverable; faults are the verifier's own, and make its verdict void. */
export type Judged = { outcome: "PASS" | "FAIL"; objections: string[]; faults: string[] };

/**
 * A PASS needs all of these: the verifier says PASS with a score of 80 or more, every deterministic check
 * passed on this content, every criterion has evidence that is in the record, files were changed if files
 * were to be delivered, and another agent did the work. The deliverable is never interpreted, so no text in
 * it can talk its way to a PASS.
 */
export function judge(given: Case): Judged {
  const { said, criteria, checks, deliverableHash, deliverable, filesChanged, worker, verifier } = given;
  const objections: string[] = [];
  if (worker === verifier) objections.push(`${verifier} cannot verify its own work`);
  if (said.verdict === "FAIL") objections.push(verifierSaysFail);
  else if (!(said.score >= passAt)) objections.push(`a score of ${said.score} does not pass; the minimum is ${passAt}`);
  if (deliverable === "files" && filesChanged.length === 0) objections.push(noFilesChanged);
  for (const [i, { criterion, check }] of criteria.entries()) {
    const number = i + 1;
    const red = check ? checked(number, criterion, checks, deliverableHash) : [];
    objections.push(...red);
    // One objection for one criterion: a failed check is the cause, and what was cited for it adds nothing.
    if (red.length === 0 && said.evidence.some((item) => item.criterion === number && !item.met))
      objections.push(`criterion ${number} is not met: ${criterion}`);
  }
  const faults = faultsOf(given);
  return { outcome: objections.length + faults.length === 0 ? "PASS" : "FAIL", objections, faults };
}

/** The failings of the verifier itself: evidence that is missing or not in the record. */
function faultsOf({
  said,
  criteria,
  checks,
  deliverableHash,
  deliverable,
  filesChanged,
  output,
  seen,
}: Case): string[] {
  const own = checks.filter((one) => one.deliverableHash === deliverableHash);
  const facts: AbsenceFacts = {
    ...seen,
    changed: new Set(filesChanged),
    checks: new Map(own.map(({ criterion, passed, detail }) => [criterion, { passed, detail }])),
    text: deliverable === "text" ? output : null,
  };
  const faults = said.evidence.flatMap((item, i) => {
    const why =
      item.criterion > criteria.length
        ? `there is no criterion ${item.criterion}`
        : (item.absent ? notAbsent : unresolvedEvidence)(item, facts);
    return why === undefined ? [] : [`evidence ${i + 1} (criterion ${item.criterion}, ${placeOf(item)}): ${why}`];
  });
  if (said.verdict === "FAIL")
    return said.evidence.some((item) => !item.met)
      ? faults
      : [...faults, "a FAIL needs evidence of a criterion that is not met"];
  const missing = criteria.flatMap(({ criterion }, i) =>
    said.evidence.some((item) => item.criterion === i + 1) ? [] : [`no evidence for criterion ${i + 1}: ${criterion}`],
  );
  return [...faults, ...missing];
}

function checked(number: number, criterion: string, checks: CheckResult[], hash: string): string[] {
  const result = checks.find((one) => one.criterion === number && one.deliverableHash === hash);
  if (!result) return [`criterion ${number} was not checked for this content: ${criterion}`];
  return result.passed ? [] : [`the check of criterion ${number} failed: ${result.detail}`];
}

/** Statements whose evidence is not in the record: an issue for the verifier (O10). */
export const unproven = (statements: Statement[], facts: Facts): string[] =>
  statements.flatMap(({ statement, evidence, ...place }) => {
    const why = unresolved({ ...place, quote: evidence }, facts);
    return why === undefined ? [] : [`${statement} (${why})`];
  });

/** Open topics as criteria, numbered after those of the plan. */
export const topicCriteria = (topics: string[]): Criterion[] =>
  topics.map((topic) => ({ criterion: `The open topic is answered: ${topic}` }));

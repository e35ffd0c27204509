import { expect, test } from "vitest";
import { type Facts, trustOf } from "./rule.ts";

const at = (day: number) => `2026-11-${String(day).padStart(2, "0")}T00:00:00.000Z`;
const now = at(20);
const written: Facts = {
  written: { by: "engineer", at: at(1), version: 3 },
  verifications: [],
  withdrawals: [],
  disputes: [],
  sources: [],
  contradictions: [],
};
const person = { kind: "person", by: "ada", at: at(5) } as const;
const check = { kind: "check", by: "qc-1", at: at(4) } as const;
const overturned = (day: number) => ({ what: "task t-1 overturned", by: "ada", at: at(day) });
const source = { ref: "source:limits.md#L3", trouble: "changed", at: at(9) } as const;
const gone = { ref: "file:src/a.ts", trouble: "gone", at: at(10) } as const;
const contradicted = (day: number) => ({ subject: "entry:limits", passage: "h2", says: "It is 60 s.", at: at(day) });
const dispute = (day: number) => ({ by: "bob", why: "no", at: at(day), topic: "t-9" });
const replaced = { state: "verified_by_person", passage: "h0" } as const;

const table: [string, Partial<Facts>, string, string[], string | undefined][] = [
  ["nobody checked it", {}, "unverified", [], undefined],
  ["a verdict passed it", { verifications: [check] }, "verified_by_check", [], undefined],
  ["a person approved it", { verifications: [person] }, "verified_by_person", [], undefined],
  ["the newest verification counts", { verifications: [person, check] }, "verified_by_person", [], undefined],
  [
    "a verdict after a person's word counts as the check it is",
    { verifications: [{ ...check, at: at(6) }, person] },
    "verified_by_check",
    [],
    undefined,
  ],
  [
    "a verification of the text before it was written again does not count",
    { verifications: [{ ...person, at: "2026-10-01T00:00:00.000Z" }] },
    "unverified",
    [],
    undefined,
  ],
  ["it replaced a verified text", { replaced }, "unverified", ["text_changed"], "verified_by_person"],
  ["it replaced an unverified text", { replaced: { state: "unverified", passage: "h0" } }, "unverified", [], undefined],
  ["its source changed", { verifications: [person], sources: [source] }, "stale", ["source_changed"], person.kind],
  ["a source of an unverified text", { sources: [source] }, "unverified", [], undefined],
  [
    "both sources are in trouble, newest first",
    { verifications: [check], sources: [source, gone] },
    "stale",
    ["source_gone", "source_changed"],
    check.kind,
  ],
  ["its time is over", { verifications: [person], staleAfter: at(19) }, "stale", ["stale_after"], person.kind],
  ["its time is not over", { verifications: [person], staleAfter: at(21) }, "verified_by_person", [], undefined],
  ["its run was reverted", { withdrawals: [overturned(6)] }, "withdrawn", ["overturned"], undefined],
  [
    "its run was reverted after it was verified",
    { verifications: [person], withdrawals: [overturned(6)] },
    "withdrawn",
    ["overturned"],
    person.kind,
  ],
  [
    "a person verified it after its run was reverted",
    { verifications: [person], withdrawals: [overturned(3)] },
    "verified_by_person",
    [],
    undefined,
  ],
  [
    "a newer verified text contradicts it",
    { verifications: [person], contradictions: [contradicted(6)] },
    "disputed",
    ["contradicted"],
    person.kind,
  ],
  [
    "an older verified text contradicts it",
    { verifications: [person], contradictions: [contradicted(4)] },
    "verified_by_person",
    [],
    undefined,
  ],
  [
    "any verified text contradicts an unverified one",
    { contradictions: [contradicted(1)] },
    "disputed",
    ["contradicted"],
    undefined,
  ],
  ["a person disputes it", { verifications: [person], disputes: [dispute(7)] }, "disputed", ["disputed"], person.kind],
  [
    "it was verified after the dispute",
    { verifications: [person], disputes: [dispute(2)] },
    "verified_by_person",
    [],
    undefined,
  ],
  [
    "withdrawn is worse than disputed, disputed worse than stale",
    { verifications: [person], withdrawals: [overturned(6)], disputes: [dispute(7)], sources: [source] },
    "withdrawn",
    ["overturned"],
    person.kind,
  ],
  [
    "disputed is worse than stale",
    { verifications: [person], disputes: [dispute(7)], sources: [source] },
    "disputed",
    ["disputed"],
    person.kind,
  ],
];

test.each(table)("K10: %s", (_said, facts, state, causes, lost) => {
  const trust = trustOf({ ...written, ...facts }, now);
  expect([trust.state, trust.causes.map(({ kind }) => kind)]).toEqual([state, causes]);
  expect(trust.lost).toBe(lost === "person" || lost === "check" ? `verified_by_${lost}` : lost);
});

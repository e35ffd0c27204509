import { describe, expect, test } from "vitest";
import { check, type Effect, type Op, type State, violations } from "../prove/failover/history.ts";

/** A history without violations, which each test then changes. */
function history() {
  const op = (given: Partial<Op> & Pick<Op, "kind" | "key" | "mark" | "began">): Op => ({
    client: "c",
    outcome: "ok",
    ended: given.began + 5,
    ...given,
  });
  const ops = [
    op({ kind: "commit", key: "vision", mark: "r1-a.", version: 2, began: 0 }),
    op({ kind: "read", key: "vision", mark: "", version: 2, began: 10 }),
    op({ kind: "commit", key: "vision", mark: "r1-b.", version: 3, began: 20 }),
    op({ kind: "append", key: "log", mark: "r1-c.", version: 7, began: 30 }),
    op({ kind: "claim", key: "task", mark: "", claim: "ada", leaseMs: 100, began: 40 }),
    op({ kind: "edit", key: "task", mark: "r1-d.", claim: "ada", began: 50 }),
    op({ kind: "claim", key: "task", mark: "", claim: "bob", leaseMs: 100, began: 200 }),
    op({ kind: "complete", key: "task", mark: "r1-e.", claim: "bob", began: 210 }),
  ];
  const at = (key: string, mark: string, position: number, version?: number): Effect => ({
    key,
    mark,
    position,
    ...(version === undefined ? {} : { version }),
  });
  const state: State = {
    effects: [
      at("vision", "r1-a.", 1, 2),
      at("vision", "r1-b.", 2, 3),
      at("log", "r1-c.", 3, 7),
      at("task", "r1-d.", 5),
      at("task", "r1-e.", 7),
    ],
    claims: [
      { key: "task", holder: "ada", position: 4 },
      { key: "task", holder: "bob", position: 6 },
    ],
  };
  const named = (mark: string) => ops.find((one) => one.mark === mark) as Op;
  return { ops, state, op, at, named };
}

describe("C2: the history checker of the failover table", () => {
  test("C2: accepts a history without violations, and unknown writes with or without effect", () => {
    const { ops, state, op, at } = history();
    ops.push(op({ kind: "append", key: "log", mark: "r1-u.", began: 300, outcome: "unknown" }));
    ops.push(op({ kind: "append", key: "log", mark: "r1-v.", began: 310, outcome: "unknown" }));
    state.effects.push(at("log", "r1-v.", 8, 8));
    expect(violations(check(ops, state))).toEqual([]);
    expect(check(ops, state)).toMatchObject({ acknowledged: 5, unknown: 2 });
  });

  test("C1: finds an acknowledged write that is missing, and one at another version", () => {
    const { ops, state, named } = history();
    state.effects = state.effects.filter(({ mark }) => mark !== "r1-c.");
    named("r1-b.").version = 9;
    expect(check(ops, state).lost).toEqual([
      expect.stringContaining("r1-b. of c to vision was acknowledged as version 9"),
      expect.stringContaining("r1-c. of c to log was acknowledged and is missing"),
    ]);
  });

  test("C1: does not count a write that PostgreSQL itself lost, and counts every other", () => {
    const { ops, state } = history();
    state.effects = state.effects.filter(({ mark }) => !["r1-b.", "r1-c."].includes(mark));
    const { lost } = check(ops, state, { lostByDatabase: new Set(["r1-c."]) });
    expect(lost).toEqual([expect.stringContaining("r1-b.")]);
  });

  test("C2: finds a write that occurs twice, and two texts of one version", () => {
    const { ops, state, at } = history();
    state.effects.push(at("log", "r1-c.", 8, 8), at("vision", "r1-x.", 9, 3));
    expect(check(ops, state).doubled).toEqual([
      expect.stringContaining("r1-c. occurs 2 times"),
      expect.stringContaining("vision version 3 was given 2 times"),
    ]);
  });

  test("C2: finds a refused write that took effect", () => {
    const { ops, state, named } = history();
    named("r1-c.").outcome = "refused";
    expect(check(ops, state).late).toEqual([expect.stringContaining("r1-c. of c to log was refused")]);
  });

  test("C2: finds a zombie's write after the next claim, also if the epoch occurs twice and no answer came", () => {
    const { ops, state, op, at } = history();
    ops.push(op({ kind: "edit", key: "task", mark: "r1-z.", claim: "ada", epoch: 1, began: 60, outcome: "unknown" }));
    state.effects.push(at("task", "r1-z.", 8));
    expect(check(ops, state).late).toEqual([expect.stringContaining("under the claim of ada after bob had claimed")]);
  });

  test("C2: finds a read that goes back behind an acknowledged write", () => {
    const { ops, state, op } = history();
    ops.push(op({ kind: "read", key: "vision", mark: "", version: 2, began: 26 }));
    expect(check(ops, state).unordered).toEqual([expect.stringContaining("read version 2 of vision after commit r1-b.")]);
  });

  test("C2: finds a second holder while a lease is valid, and none after the first released the task", () => {
    const { ops, state, op } = history();
    const second = ops.find(({ claim, kind }) => claim === "bob" && kind === "claim") as Op;
    Object.assign(second, { began: 60, ended: 65 });
    expect(check(ops, state).unordered).toEqual([expect.stringContaining("bob got task while the lease of ada")]);
    expect(check(ops, state, { leasesHold: false }).unordered).toEqual([]);
    ops.push(op({ kind: "release", key: "task", mark: "", claim: "ada", began: 56 }));
    expect(check(ops, state).unordered).toEqual([]);
  });
});

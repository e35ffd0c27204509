import { expect, test } from "vitest";
import { type Audience, isInAudience } from "./audience.ts";
import { type Agent, type Caller, type CrewPart, newTurn, type Person } from "./caller.ts";

const roles = {
  sections: [
    { mode: "snapshot" as const, writable_by: ["planner"] },
    { mode: "log" as const, writable_by: ["planner", "reporter"] },
  ],
  pipeline: ["planner", "engineer"],
};

const agent = (more: Partial<Agent> = {}): Agent => ({ kind: "agent", role: "planner", turn: newTurn(), ...more });
const ofCrew = (part: CrewPart) => agent({ crew: { run: "run-1", part, agent: `${part}-1` } });
const ada: Person = { kind: "person", name: "Ada", rank: "admin" };

/** For each caller, whether the tool is listed. */
const seen = (audience: Audience, callers: Caller[], rules: typeof roles | undefined = roles) =>
  callers.map((caller) => isInAudience(audience, caller, rules));

test("H8: a role sees the writes of its sections and the handoff of its pipeline, and people see all", () => {
  const reporter = agent({ role: "reporter" });
  expect(seen("snapshot-writers", [agent(), reporter])).toEqual([true, false]);
  expect(seen("log-writers", [reporter, agent({ role: "engineer" })])).toEqual([true, false]);
  expect(seen("pipeline", [agent(), reporter])).toEqual([true, false]);
  for (const audience of ["log-writers", "pipeline"] as const)
    expect(isInAudience(audience, reporter, undefined)).toBe(true);
  for (const audience of ["snapshot-writers", "pipeline", "planner", "worker", "verifier", "job"] as const)
    expect(seen(audience, [ada])).toEqual([true]);
});

test("P2: tools of the crew and of jobs are listed only for agents that were started for them", () => {
  expect(seen("planner", [ofCrew("pm"), ofCrew("qc"), agent()])).toEqual([true, false, false]);
  expect(seen("verifier", [ofCrew("qc"), ofCrew("worker"), agent()])).toEqual([true, false, false]);
  expect(seen("job", [agent({ job: "j-1" }), agent()])).toEqual([true, false]);
  const bound = agent({ task: "task-1", epoch: 1 });
  expect(seen("worker", [ofCrew("worker"), ofCrew("qc"), bound, agent()])).toEqual([true, false, true, false]);
});

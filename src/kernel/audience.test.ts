import { expect, test } from "vitest";
import { crewPart, jobAgents, rolesInPipeline, workersOnTask, writersOf } from "./audience.ts";
import { type Agent, type CrewPart, newTurn, type Person } from "./caller.ts";

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

test("H8: a role sees the writes of its sections and the handoff of its pipeline, and people see all", () => {
  const reporter = agent({ role: "reporter" });
  expect([writersOf("snapshot")(agent(), roles), writersOf("snapshot")(reporter, roles)]).toEqual([true, false]);
  expect([writersOf("log")(reporter, roles), writersOf("log")(agent({ role: "engineer" }), roles)]).toEqual([
    true,
    false,
  ]);
  expect([rolesInPipeline(agent(), roles), rolesInPipeline(reporter, roles)]).toEqual([true, false]);
  expect([writersOf("log")(reporter, undefined), rolesInPipeline(reporter, undefined)]).toEqual([true, true]);
  for (const audience of [writersOf("log"), rolesInPipeline, crewPart("pm"), workersOnTask, jobAgents])
    expect(audience(ada, roles)).toBe(true);
});

test("P2: tools of the crew and of jobs are shown only to agents that were started for them", () => {
  expect([crewPart("pm")(ofCrew("pm"), roles), crewPart("pm")(ofCrew("qc"), roles)]).toEqual([true, false]);
  expect([crewPart("qc")(agent(), roles), jobAgents(agent(), roles)]).toEqual([false, false]);
  expect(jobAgents(agent({ job: "j-1" }), roles)).toBe(true);
  const onTask = [ofCrew("worker"), ofCrew("qc"), agent({ task: "task-1", epoch: 1 }), agent()];
  expect(onTask.map((caller) => workersOnTask(caller, roles))).toEqual([true, false, true, false]);
});

import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { disputePassage } from "../src/review/dispute-operations.ts";
import { listTrust, showTrust, verifyPassage } from "../src/trust/operations.ts";
import { commitEntry } from "../src/wiki/operations.ts";
import { agent, allEvents, backends, newWorkspace, person, type TestWorkspace } from "./support/workspace.ts";

const page = async ({ app }: TestWorkspace, id: string) => unwrap(await showTrust.perform(app, { id }, person()));
const states = async (workspace: TestWorkspace, id: string) =>
  Object.fromEntries((await page(workspace, id)).passages.map(({ text, state }) => [text, state]));
const commit = async ({ app }: TestWorkspace, id: string, content: string, by = agent("planner")) => {
  const { version } = await app.entries.fetch(id);
  return unwrap(await commitEntry.perform(app, { id, content, version }, by));
};
const verify = async (workspace: TestWorkspace, id: string, text: string, more = {}) => {
  const found = (await page(workspace, id)).passages.find((one) => one.text.includes(text));
  return unwrap(await verifyPassage.perform(workspace.app, { id, passage: found?.passage ?? "", ...more }, person()));
};

describe.each(backends)("with $store on $engine", (backend) => {
  test("K10: what an agent writes is unverified, what a person writes or verifies is verified by them", async () => {
    const workspace = await newWorkspace(backend);
    await commit(workspace, "vision", "# Vision\n\nParcels arrive on time.\n\nDrivers rest.\n");
    expect(await states(workspace, "vision")).toEqual({
      "Parcels arrive on time.": "unverified",
      "Drivers rest.": "unverified",
    });
    await verify(workspace, "vision", "Parcels");
    await commit(
      workspace,
      "vision",
      "# Vision\n\nParcels arrive on time.\n\nDrivers rest.\n\nWe own vans.\n",
      person(),
    );
    expect(await states(workspace, "vision")).toEqual({
      "Parcels arrive on time.": "verified_by_person",
      "Drivers rest.": "unverified",
      "We own vans.": "verified_by_person",
    });
  });

  test("K10: a verified passage that an agent changes loses its verification, and is listed with the cause", async () => {
    const workspace = await newWorkspace(backend);
    await commit(workspace, "vision", "# Vision\n\nParcels arrive within 2 days.\n\nDrivers rest.\n");
    await verify(workspace, "vision", "Parcels");
    await commit(workspace, "vision", "# Vision\n\nParcels arrive within 9 days.\n\nDrivers rest.\n");
    expect(await states(workspace, "vision")).toMatchObject({ "Parcels arrive within 9 days.": "unverified" });
    const { passages } = unwrap(await listTrust.perform(workspace.app, {}, person()));
    expect(passages).toMatchObject([
      {
        id: "vision",
        text: "Parcels arrive within 9 days.",
        lost: "verified_by_person",
        causes: [{ kind: "text_changed", by: "planner" }],
      },
    ]);
    const changes = (await allEvents(workspace.app)).filter(({ kind }) => kind === "trust-changed");
    expect(changes.map(({ actor, data }) => [actor, data])).toMatchObject([
      ["Ada Lovelace", { from: "unverified", to: "verified_by_person" }],
      ["planner", { from: "verified_by_person", to: "unverified", causes: [{ kind: "text_changed" }] }],
    ]);
  });

  test("K10: only a person verifies; a person's dispute takes trust away, an agent's asks people", async () => {
    const workspace = await newWorkspace(backend);
    await commit(workspace, "vision", "# Vision\n\nParcels arrive within 2 days.\n");
    const { passage } = (await verify(workspace, "vision", "Parcels")).passage;
    const refused = await verifyPassage.perform(workspace.app, { id: "vision", passage }, agent("planner"));
    expect(refused).toMatchObject({ ok: false, problem: { code: "denied" } });
    const unproven = { ...person(), proof: undefined } as never;
    expect(await verifyPassage.perform(workspace.app, { id: "vision", passage }, unproven)).toMatchObject({
      ok: false,
    });
    const dispute = { id: "vision", passage, why: "The contract says 3 days." };
    const asked = unwrap(await disputePassage.perform(workspace.app, dispute, agent("planner")));
    expect(asked.passage).toMatchObject({ state: "verified_by_person", topics: [asked.topic_id] });
    const disputed = unwrap(await disputePassage.perform(workspace.app, dispute, person()));
    expect(disputed.passage).toMatchObject({
      state: "disputed",
      causes: [{ kind: "disputed", by: "Ada Lovelace", topic_id: disputed.topic_id }],
    });
    expect((await verify(workspace, "vision", "Parcels")).passage.state).toBe("verified_by_person");
  });
});

import { expect, test } from "vitest";
import { openExample } from "../src/http/example.ts";
import { scriptorium } from "./support/commands.ts";
import { temporaryFolder } from "./support/workspace.ts";

test("P15: the example has topics in every state, decided and open proposals, a perspective, a finished and a failed run", async () => {
  const cwd = await openExample(temporaryFolder());
  const ask = async (...args: string[]) =>
    (await scriptorium([...args, "--json"], { cwd })).json<Record<string, unknown>[]>();
  const topics = await ask("topic", "list");
  expect(new Set(topics.map(({ status }) => status))).toEqual(new Set(["open", "resolved"]));
  expect(topics).toContainEqual(
    expect.objectContaining({ status: "open", anchor: expect.objectContaining({ state: "orphaned" }) }),
  );
  expect(topics.filter(({ created_by }) => !String(created_by).endsWith("(example)"))).toEqual([]);
  expect((await ask("proposal", "list")).map(({ status }) => status)).toEqual(["open", "rejected", "approved"]);
  const today = new Date().toISOString().slice(0, 10);
  const runs = await ask("run", "list");
  expect(runs.map(({ state }) => state)).toEqual(["failed", "completed"]);
  expect(runs.filter(({ created_at }) => String(created_at) >= today)).toEqual([]);
  const perspective = ["perspective", "show", "wiki/services/search.md", "--persona", "new in support", "--json"];
  expect((await scriptorium(perspective, { cwd })).json()).toMatchObject({ stale: false });
  expect((await scriptorium(["doctor", "--json"], { cwd })).stdout).not.toContain('"damaged"');
});

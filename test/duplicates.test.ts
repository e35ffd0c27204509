import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { scriptorium, serve } from "./support/commands.ts";
import { ask } from "./support/requests.ts";
import { agent, engines, newWorkspace, person, type TestWorkspace } from "./support/workspace.ts";

const sorted = "Parcels that arrive after noon are sorted on the next working day by the night crew.";
const commit = async ({ app }: TestWorkspace, id: string, content: string) => {
  const { version } = await app.entries.fetch(id);
  unwrap(await operations.commit_entry.perform(app, { id, content, version }, agent("planner")));
};

async function book(engine: (typeof engines)[number]): Promise<TestWorkspace> {
  const made = await newWorkspace({ engine });
  await commit(made, "vision", `# Vision\n\n${sorted}\n\nThe depot keeps parcels for 14 days before they go back.\n`);
  await commit(made, "notes", `# Notes\n\nFirst.\n\n- ${sorted}\n- Another note.\n`);
  await commit(made, "glossary", "# Words\n\nThe depot keeps parcels for 30 days before they go back.\n");
  await made.app.recorder.drain(5000);
  return made;
}

describe.each(engines)("K10: duplicates in the wiki (%s)", (engine) => {
  test("K10: near-duplicates and contradictions of different pages are listed, and merged as a proposal for a person", async () => {
    const { app } = await book(engine);
    const { groups, complete } = unwrap(await operations.list_duplicates.perform(app, {}, person("reader")));
    expect(complete).toBe(true);
    expect(groups.map(({ kind, passages }) => [kind, passages.map((one) => one.source_path).toSorted()])).toEqual(
      expect.arrayContaining([
        ["same", ["wiki/notes.md", "wiki/vision.md"]],
        ["contradicting", ["wiki/glossary.md", "wiki/vision.md"]],
      ]),
    );
    const same = groups.find(({ kind }) => kind === "same")?.passages ?? [];
    const at = (path: string) => {
      const found = same.find((one) => one.source_path === path);
      return { id: path, passage: found?.passage ?? "" };
    };
    const wanted = { keep: at("wiki/vision.md"), remove: [at("wiki/notes.md")], message: "Said twice." };
    expect(await operations.merge_passages.perform(app, wanted, agent("planner"))).toMatchObject({
      problem: { code: "denied" },
    });
    const { proposals } = unwrap(await operations.merge_passages.perform(app, wanted, person("collaborator")));
    expect(proposals).toMatchObject([{ source_path: "wiki/notes.md", passages: 1 }]);
    expect((await app.entries.fetch("notes")).content).toContain(sorted);
    unwrap(await operations.approve_proposal.perform(app, { id: proposals[0]?.id ?? "" }, person()));
    expect((await app.entries.fetch("notes")).content).toBe(
      "# Notes\n\nFirst.\n\n- See [wiki/vision.md](vision.md).\n- Another note.\n",
    );
    const after = unwrap(await operations.list_duplicates.perform(app, { under: "notes" }, person()));
    expect(after.groups).toEqual([]);
  });
});

test("K2, K10: a line of a log is never what a merge removes; a passage of the same page goes without a link", async () => {
  const made = await newWorkspace();
  const { app } = made;
  unwrap(await operations.append_log.perform(app, { id: "decisions", line: sorted }, agent("planner")));
  await commit(
    made,
    "notes",
    `# Notes\n\n${sorted}\n\nBetween.\n\n## Again\n\n${sorted}\n\n| a | b |\n|---|---|\n| x | ${sorted} |\n`,
  );
  const { groups } = unwrap(await operations.list_duplicates.perform(app, {}, person()));
  const found = groups.flatMap(({ passages }) => passages);
  const own = found.filter((one) => one.source_path === "wiki/notes.md");
  const line = found.find((one) => one.source_path === "wiki/decisions.md");
  const keep = { id: "notes", passage: own[0]?.passage ?? "" };
  const remove = [{ id: "decisions", passage: line?.passage ?? "" }];
  expect(await operations.merge_passages.perform(app, { keep, remove }, person())).toMatchObject({
    problem: { code: "invalid", message: expect.stringContaining("is a log, whose lines do not change") },
  });
  const shown = unwrap(await operations.get_trust.perform(app, { id: "notes" }, person())).passages;
  const [first, , second] = shown.map(({ passage }) => ({ id: "notes", passage }));
  if (!first || !second) throw new Error("no passages");
  const same = { keep: first, remove: [second] };
  const { proposals } = unwrap(await operations.merge_passages.perform(app, same, person()));
  const proposal = await app.proposals.find(proposals[0]?.id ?? "");
  expect((proposal as { text?: string }).text).toContain(`${sorted}\n\nBetween.\n\n## Again\n\n| a | b |`);
});

test("K10: trust duplicates and trust merge work from the shell and over HTTP", async () => {
  const made = await book("sqlite");
  await made.app.close();
  writeFileSync(join(made.root, "own.txt"), "own\n");
  const listed = await scriptorium(["trust", "duplicates"], { cwd: made.root });
  expect(listed.stdout).toContain("nearly the same (100 %)");
  const [keep = "", remove = ""] = [
    ...listed.stdout.matchAll(/^ {2}(wiki\/(?:vision|notes)\.md#\S+) {2}.*arrive after noon/gm),
  ].map(([, id]) => id ?? "");
  const [page = "", passage = ""] = keep.split("#");
  const merged = await scriptorium(["trust", "merge", page, passage, "--remove", remove], { cwd: made.root });
  expect(merged.stdout).toMatch(/^proposal p-\S+ for wiki\/(notes|vision)\.md, topic t-/);
  const server = await serve(made.root);
  const answer = await (await ask(server.url, "/api/passages/duplicates?limit=1", { token: server.token })).json();
  expect(answer).toMatchObject({ groups: [{ kind: expect.any(String) }], complete: false });
});

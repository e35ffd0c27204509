import { writeFileSync } from "node:fs";
import type { App } from "../../src/app.ts";
import type { Diagnosis, Finding } from "../../src/doctor/finding.ts";
import { unwrap } from "../../src/kernel/result.ts";
import { operations } from "../../src/operation-list.ts";
import { agent, newWorkspace, person, read, type TestWorkspace } from "./workspace.ts";

/** A run has one holder of the focus. */
const runs: Record<string, string> = { planner: "r-1", architect: "r-2", engineer: "r-3" };

export const commit = async (app: App, id: string, content: string, role = "planner") => {
  const { version } = await app.entries.fetch(id);
  return unwrap(await operations.commit_entry.perform(app, { id, content, version }, agent(role, runs[role])));
};
export const append = async (app: App, line: string, id = "decisions") =>
  unwrap(await operations.append_log.perform(app, { id, line }, agent("engineer", runs.engineer)));

/** A workspace whose entries have several versions by agents and by a person. */
export async function writtenBook(options: Parameters<typeof newWorkspace>[0] = {}): Promise<TestWorkspace> {
  const book = await newWorkspace(options);
  const { app, file } = book;
  await commit(app, "vision", "A book for [[design]].\n");
  await commit(app, "vision", "A book for [[design]] and more.\n");
  await commit(app, "design", "How it is built.\n", "architect");
  for (const line of ["one", "two", "three"]) await append(app, line);
  if ((options.store ?? "files") === "files") {
    writeFileSync(file("notes.md"), "---\ntitle: Own notes\n---\n\nBy hand.\n");
    await app.entries.fetch("notes");
    writeFileSync(file("vision.md"), read(file("vision.md")).replace("more", "more by hand"));
    await app.entries.fetch("vision");
  }
  await commit(app, "vision", "A book for [[design]], third.\n");
  await app.recorder.drain(5000);
  while ((await app.mirror?.record())?.more);
  return book;
}

export async function diagnosed(app: App): Promise<Diagnosis> {
  return unwrap(await operations.doctor.perform(app, {}, person()));
}

/** The findings that need attention. */
export const troubles = ({ findings }: Diagnosis): Finding[] =>
  findings.filter(({ state, acknowledged }) => (state === "problem" || state === "warning") && !acknowledged);

import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { serve } from "./support/commands.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace, read } from "./support/workspace.ts";

/** A served workspace with an entry and a topic, which only the database has. */
async function served() {
  const { app, root, git, open } = await newWorkspace({ files: { "docs/a.md": "# A\n\ntext\n" } });
  await app.close();
  const server = await serve(root);
  const { url, token } = server;
  const put = (content: string, version: number) =>
    ask(url, "/api/entries/vision", { method: "PUT", token, body: { content, version } });
  expect(await put("# Kept\n", 1)).toMatchObject({ status: 200 });
  const topic = await ask(url, "/api/topics", {
    method: "POST",
    token,
    body: { source_path: "docs/a.md", kind: "question", content: "why?" },
  });
  expect(topic.json(), topic.text).toMatchObject({ id: expect.any(String) });
  expect((await ask(url, "/readyz")).status).toBe(200);
  return { root, git, open, server, url, put, topic: topic.json().id as string };
}

describe("V3: the database vanishes under a running server", () => {
  test("V3: after git clean -xdf writes are refused before anything is written, and nothing acknowledged is lost", async () => {
    const { root, git, open, server, url, put, topic } = await served();
    git("clean", "-xdfq");
    expect(existsSync(join(root, ".scriptorium/scriptorium.db"))).toBe(false);
    const refused = await put("# Into the void\n", 2);
    expect(refused).toMatchObject({ status: 422 });
    expect(refused.text).toMatch(/scriptorium\.db was deleted while it was open.*restart Scriptorium/);
    expect(read(join(root, "wiki/vision.md"))).toContain("# Kept");
    expect((await ask(url, "/readyz")).status).toBe(503);
    expect((await put("# Again\n", 2)).status).toBe(422);
    await server.stop();

    const app = await open();
    expect(await app.entries.fetch("vision")).toMatchObject({ version: 2, content: "# Kept\n" });
    expect((await app.entries.history("vision")).map(({ version }) => version)).toEqual([2, 1]);
    expect(await app.topics.find(topic)).toMatchObject({ id: topic });
    expect(git("fsck", "--strict", "--no-dangling")).toBe("");
  });

  test("V3: a database that another process has put in its place stays, and the old one is saved beside it", async () => {
    const { root, server, url, put } = await served();
    const file = join(root, ".scriptorium/scriptorium.db");
    const other = await newWorkspace();
    await other.app.close();
    for (const end of ["-wal", "-shm"]) rmSync(file + end, { force: true });
    // At once: the server may look at any moment, and would save a missing database to its old place.
    renameSync(join(other.root, ".scriptorium/scriptorium.db"), file);
    const refused = await put("# Into the void\n", 2);
    expect(refused.status).toBe(422);
    const saved = /saved to (\S+\.saved-\d+):/.exec(refused.json().error)?.[1] ?? "";
    expect(existsSync(saved)).toBe(true);
    expect((await ask(url, "/readyz")).json()).toMatchObject({ status: "not_ready" });
    await server.stop();
  });
});

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { App } from "../src/app.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operationNamed } from "../src/operation-list.ts";
import type { OperationName } from "../src/operation-loaders.ts";
import { historyRef } from "../src/store/git/history-ref.ts";
import { scriptorium } from "./support/commands.ts";
import { agent, allEvents, backends, newWorkspace, person, read } from "./support/workspace.ts";

const perform = <N extends OperationName>(app: App, name: N, input: object, caller = person()) =>
  operationNamed(name).perform(app, input, caller);
const ask = async <N extends OperationName>(app: App, name: N, input: object, caller = person()) =>
  unwrap(await perform(app, name, input, caller));

const pages = {
  "docs/deploy.md":
    "# Deploy\r\n\r\nSee [the plan](plan.md#goal) and ![a picture](img/a.png).\r\n\r\nPush the button.\r\n\r\nWait until the lights are green before you tell anybody else about it.\r\n\r\nThen write down what happened, when, and who was there.\r\n",
  "docs/plan.md":
    "# Plan\r\n\r\nFirst [deploy](deploy.md#now), then rest.\r\n\r\n```md\r\n[deploy](deploy.md)\r\n```\r\n",
  "README.md": "# Start\n\n[Deploy](./docs/deploy.md) or [[page:docs/deploy.md|here]].\n\n[d]: docs/deploy.md\n",
  "docs/img/a.png": "no picture",
  "sources/old.md": "[d](../docs/deploy.md)\n",
};
const move = { path: "docs/deploy.md", new_path: "guides/ops/release.md" };

async function workspaceWithPages(backend: Parameters<typeof newWorkspace>[0] = {}) {
  const made = await newWorkspace({ ...backend, files: pages });
  const { version } = await ask(made.app, "fetch_entry", { id: "vision" });
  await ask(made.app, "commit_entry", { id: "vision", content: "See [it](../docs/deploy.md).\n", version });
  await ask(made.app, "append_log", { id: "decisions", line: "as [it](../docs/deploy.md) says" }, agent("planner"));
  await made.app.recorder.drain(10_000);
  return made;
}

describe.each(backends)("U11: a page is moved with its links ($store, $engine)", (backend) => {
  test("U11: links are rewritten in one commit; topics, proposals, edges and history follow", async () => {
    const { app, root, git } = await workspaceWithPages(backend);
    const quoted = { source_path: move.path, quote: "Push the button", content: "Which?" };
    const topic = await ask(app, "open_topic", quoted);
    const base_sha = topic.anchor?.source_sha ?? "";
    const { content } = await ask(app, "read_page", { path: move.path });
    const text = content.replace("button", "red button");
    const proposal = await ask(app, "insert_proposal", { topic_id: topic.id, base_sha, content: text });
    await ask(app, "memory_add_node", { type: "service", id: "service:billing" });
    await ask(app, "memory_add_edge", { type: "uses", from: "service:billing", to: `page:${move.path}` });
    const commits = git("rev-list", "--count", "HEAD");

    const preview = await ask(app, "move_page", move);
    expect(preview).toMatchObject({ moved: false, topics: 1, proposals: 1, edges: 1, commit: null });
    expect(preview.relinked.map(({ path }) => path).sort()).toEqual(
      ["README.md", "docs/plan.md", "guides/ops/release.md", "wiki/vision.md"].sort(),
    );
    expect(preview.relinked.find(({ path }) => path === "docs/plan.md")?.lines).toEqual([
      {
        line: 3,
        before: "First [deploy](deploy.md#now), then rest.",
        after: "First [deploy](../guides/ops/release.md#now), then rest.",
      },
    ]);
    expect(preview.left).toEqual(
      expect.arrayContaining([
        { path: "wiki/decisions.md", reason: "it is a log, whose lines do not change" },
        { path: "sources/old.md", reason: "it is a source, which never changes" },
      ]),
    );
    expect(existsSync(join(root, move.path))).toBe(true);
    expect(git("rev-list", "--count", "HEAD")).toBe(commits);

    const done = await ask(app, "move_page", { ...move, confirm: true, source_sha: preview.source_sha });
    expect(done).toMatchObject({ moved: true, topics: 1 });
    expect(done.relinked.length).toBe(preview.relinked.length);
    expect(existsSync(join(root, move.path))).toBe(false);
    expect(read(join(root, move.new_path))).toBe(
      "# Deploy\r\n\r\nSee [the plan](../../docs/plan.md#goal) and ![a picture](../../docs/img/a.png).\r\n\r\nPush the button.\r\n\r\nWait until the lights are green before you tell anybody else about it.\r\n\r\nThen write down what happened, when, and who was there.\r\n",
    );
    expect(read(join(root, "docs/plan.md"))).toBe(
      pages["docs/plan.md"].replace("deploy.md#now", "../guides/ops/release.md#now"),
    );
    expect(read(join(root, "README.md"))).toBe(
      "# Start\n\n[Deploy](./guides/ops/release.md) or [[page:guides/ops/release.md|here]].\n\n[d]: guides/ops/release.md\n",
    );
    const vision = await ask(app, "fetch_entry", { id: "vision" });
    expect(vision.content).toBe("See [it](../guides/ops/release.md).\n");
    expect(vision.metadata.lastAuthor).toBe("Ada Lovelace");

    const followed = await ask(app, "get_topic", { id: topic.id });
    expect(followed).toMatchObject({ source_path: move.new_path, anchor: { quote: "Push the button" } });
    expect(followed.anchor?.state).toMatch(/^(anchored|moved)$/);
    expect(await ask(app, "show_proposal", { id: proposal.id })).toMatchObject({ subject: move.new_path });
    const { neighbors } = await ask(app, "memory_get_neighbors", { id: "service:billing" });
    expect(neighbors.map(({ id }) => id)).toContain(`page:${move.new_path}`);

    await app.recorder.drain(10_000);
    expect(Number(git("rev-list", "--count", "HEAD"))).toBe(Number(commits) + 1);
    expect(git("log", "-1", "--format=%an %s")).toBe(`Ada Lovelace Move ${move.path} to ${move.new_path}`);
    const inCommit = git("show", "--format=", "--name-only", "-M", "HEAD", "--").split("\n");
    expect(inCommit).toEqual(expect.arrayContaining(["README.md", "docs/plan.md", move.new_path]));
    expect(git("log", "--follow", "--format=%s", "--", move.new_path).split("\n").length).toBeGreaterThan(1);
    expect(git("log", "--follow", "--format=%s", historyRef, "--", move.new_path)).toContain("Move docs/deploy.md");
    if (backend.store === "files") expect(git("status", "--porcelain")).toBe("");
    git("fsck", "--strict");
    const kinds = (await allEvents(app)).map(({ kind, subject }) => `${kind} ${subject}`);
    expect(kinds).toEqual(
      expect.arrayContaining([`page-moved page:${move.new_path}`, `page-removed page:${move.path}`]),
    );
    expect((await ask(app, "doctor", {})).findings.filter(({ state }) => state === "problem")).toEqual([]);
    // The proposal is approved where the page is now.
    const approved = await ask(app, "approve_proposal", { id: proposal.id, merge: true });
    expect(approved.status).toBe("approved");
    expect(read(join(root, move.new_path))).toContain("red button");
  });
});

test("U11: git follows a short page whose links make most of its text: they change in a commit of their own", async () => {
  const { app, git, root } = await newWorkspace({ files: { "docs/a.md": "[b](b.md)\n", "docs/b.md": "[a](a.md)\n" } });
  await ask(app, "move_page", { path: "docs/a.md", new_path: "far/away/from/here.md", confirm: true });
  expect(read(join(root, "far/away/from/here.md"))).toBe("[b](../../../docs/b.md)\n");
  expect(git("log", "-2", "--format=%s").split("\n")).toEqual([
    "Rewrite links in far/away/from/here.md after the move of docs/a.md",
    "Move docs/a.md to far/away/from/here.md",
  ]);
  expect(git("log", "--follow", "--format=%s", "--", "far/away/from/here.md").split("\n").length).toBe(3);
  expect(git("status", "--porcelain")).toBe("");
});

describe("U11: refusals of a move", () => {
  test("U11: places that are taken, reserved, ignored or in the wiki are refused; nothing changes", async () => {
    const { app, root, git } = await workspaceWithPages();
    writeFileSync(join(root, ".gitignore"), ".scriptorium/\nprivate/\n");
    git("add", ".gitignore");
    git("commit", "--quiet", "-m", "Ignore private files");
    writeFileSync(join(root, "docs/Other.md"), "# Other\n");
    mkdirSync(join(root, "vendor/.git"), { recursive: true });
    const head = git("rev-parse", "HEAD");
    const refusal = async (new_path: string, path = move.path, caller = person()) => {
      const done = await perform(app, "move_page", { path, new_path, confirm: true }, caller);
      return done.ok ? "moved" : done.problem.message;
    };
    expect(await refusal("docs/plan.md")).toContain("docs/plan.md already exists");
    expect(await refusal("docs/other.md")).toContain("docs/Other.md already exists");
    expect(await refusal("docs/Deploy.md")).toContain("differ only in case");
    expect(await refusal(move.path)).toContain("is its path already");
    expect(await refusal("docs/con.md")).toContain("reserved name");
    expect(await refusal("docs/../up.md")).toContain("empty part");
    expect(await refusal("docs/deploy.txt")).toContain("only .md and .markdown");
    expect(await refusal("private/deploy.md")).toContain("git ignores");
    expect(await refusal("docs/plan.md/deploy.md")).toContain("is not a folder");
    expect(await refusal("vendor/deploy.md")).toContain("repository of its own");
    expect(await refusal("runs/deploy.md")).toContain("records of runs");
    expect(await refusal("sources/deploy.md")).toContain("would be a source");
    expect(await refusal("wiki/deploy.md")).toContain("propose section deploy");
    expect(await refusal("docs/vision.md", "wiki/vision.md")).toContain("rename its section");
    expect(await refusal("docs/x.md", "docs/nowhere.md")).toContain("does not exist");
    expect(await refusal("docs/x.md", move.path, agent("planner"))).toContain("may not call move_page");
    writeFileSync(join(root, move.path), "# Deploy\r\n\r\nunfinished\r\n");
    expect(await refusal("docs/x.md")).toContain("has uncommitted changes");
    expect(git("rev-parse", "HEAD")).toBe(head);
  });

  test("U11: a page with uncommitted changes keeps its link, and the preview says so", async () => {
    const { app, root } = await workspaceWithPages();
    writeFileSync(join(root, "README.md"), `${pages["README.md"]}unfinished\n`);
    const { left, relinked } = await ask(app, "move_page", { ...move, confirm: true });
    expect(left).toContainEqual({
      path: "README.md",
      reason: "README.md has uncommitted changes; commit or stash them, then change the link there",
    });
    expect(relinked.map(({ path }) => path)).not.toContain("README.md");
    expect(read(join(root, "README.md"))).toContain("unfinished");
  });

  test("U11: the command shows the change with --dry-run and makes it without", async () => {
    const { root } = await workspaceWithPages();
    const shown = await scriptorium(["page", "move", move.path, move.new_path, "--dry-run"], { cwd: root });
    expect(shown.stdout).toContain("links in docs/plan.md:");
    expect(shown.stdout).toContain("+ First [deploy](../guides/ops/release.md#now), then rest.");
    expect(existsSync(join(root, move.path))).toBe(true);
    const done = await scriptorium(["page", "move", move.path, move.new_path], { cwd: root });
    expect(done.stdout).toMatch(/^docs\/deploy\.md is now guides\/ops\/release\.md \(commit \w{12}\)/);
    expect(existsSync(join(root, move.path))).toBe(false);
    const again = await scriptorium(["page", "move", "wiki/vision.md", "docs/vision.md"], { cwd: root });
    expect(again.stderr).toContain("is the entry vision; rename its section");
  });
});

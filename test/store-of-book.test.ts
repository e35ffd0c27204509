import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { scribe, scriptorium } from "./support/commands.ts";
import { agent, backends, engines, freshDatabase, newWorkspace } from "./support/workspace.ts";

const setting = (root: string, key: string, value: string) => {
  const file = join(root, "scriptorium.yaml");
  const text = readFileSync(file, "utf8").replace(new RegExp(`^${key}: .*$`, "m"), `${key}: ${value}`);
  writeFileSync(file, text);
};

describe.each(backends)("N1: the store that holds the entries is recorded with them ($store, $engine)", (backend) => {
  test("N1: another store in the configuration is refused on every face, and nothing is shown or written", async () => {
    const { app, root, open } = await newWorkspace(backend);
    unwrap(
      await app
        .knowledge(agent("planner"))
        .commitEntry("vision", "kept\n", (await app.entries.fetch("vision")).version),
    );
    const { version } = await app.entries.fetch("vision");
    await app.close();
    const other = backend.store === "files" ? "database" : "files";
    setting(root, "store", other);
    const command = `scriptorium store move ${other}`;
    await expect(open()).rejects.toThrow(command);
    const read = await scriptorium(["entry", "read", "vision"], { cwd: root });
    expect(read).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(command) });
    const write = ["commit-entry", "--role", "planner", "--id", "vision", "--version", String(version)];
    const refused = await scribe(write, { cwd: root, input: "over it\n" });
    expect([refused.code, refused.json()]).toMatchObject([1, { status: "refused", holds: backend.store }]);
    setting(root, "store", backend.store);
    expect(await (await open()).entries.fetch("vision")).toMatchObject({ version, content: "kept\n" });
  });
});

describe.each(engines)("N1: a database that does not hold the entries (%s)", (engine) => {
  test.each(["files", "database"] as const)(
    "N1: an empty one is refused with the command to run (store: %s)",
    async (store) => {
      const { app, root, open } = await newWorkspace({ store, engine });
      unwrap(
        await app
          .knowledge(agent("planner"))
          .commitEntry("vision", "kept\n", (await app.entries.fetch("vision")).version),
      );
      await app.close();
      const fresh = await freshDatabase();
      const before = readFileSync(join(root, "scriptorium.yaml"), "utf8");
      setting(root, "database", fresh);
      await expect(open()).rejects.toThrow(`scriptorium store move ${store} --to postgres://`);
      writeFileSync(join(root, "scriptorium.yaml"), before);
      expect((await (await open()).entries.fetch("vision")).content).toBe("kept\n");
    },
  );
});

test("N1: the database of another workspace is refused", async () => {
  const [one, two] = [await newWorkspace({ engine: "postgres" }), await newWorkspace()];
  for (const { app } of [one, two]) unwrap(await app.knowledge(agent("planner")).commitEntry("vision", "kept\n", 1));
  await one.app.close();
  const other = /^database: (.*)$/m.exec(readFileSync(join(one.root, "scriptorium.yaml"), "utf8"))?.[1] ?? "";
  await two.app.close();
  setting(two.root, "database", other);
  await expect(two.open()).rejects.toThrow("holds the entries of another workspace");
});

test("N1: a deleted index of the file store is rebuilt, a deleted database of the database store is named", async () => {
  for (const store of ["files", "database"] as const) {
    const { app, root, open } = await newWorkspace({ store });
    unwrap(
      await app
        .knowledge(agent("planner"))
        .commitEntry("vision", "kept\n", (await app.entries.fetch("vision")).version),
    );
    await app.close();
    for (const name of ["scriptorium.db", "scriptorium.db-wal", "scriptorium.db-shm"])
      rmSync(join(root, ".scriptorium", name), { force: true });
    if (store === "files") expect((await (await open()).entries.fetch("vision")).content).toBe("kept\n");
    else await expect(open()).rejects.toThrow("scriptorium restore");
  }
});

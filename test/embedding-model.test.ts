import { createHash } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { unwrap } from "../src/kernel/result.ts";
import { localModel } from "../src/search/model/model.ts";
import { scriptoriumProcess } from "./support/commands.ts";
import { embeddingModel } from "./support/embedding-model.ts";
import { embeddingServer } from "./support/embedding-server.ts";
import { newWorkspace, testEnvironment } from "./support/workspace.ts";

const texts = {
  "garage.txt": "The automobile would not start this morning: its battery was flat.",
  "kitchen.txt": "Knead the dough until it is smooth, then let it rest under a cloth.",
  "office.txt": "The tax return is due at the end of July, with all receipts.",
};

test("model install brings the real model, search finds what shares no word, and another model takes over unnoticed", async (context) => {
  const { app, root } = await newWorkspace();
  for (const [name, text] of Object.entries(texts))
    unwrap(await app.sources.add(name, Buffer.from(text), { name: "Ada" }));
  const folder = await embeddingModel(root, context.skip);
  for (const [name, { sha256 }] of Object.entries(localModel.files))
    expect(
      createHash("sha256")
        .update(readFileSync(join(folder, name)))
        .digest("hex"),
    ).toBe(sha256);

  const how = { cwd: root, env: { SCRIPTORIUM_MODEL_FOLDER: folder } };
  const again = await scriptoriumProcess(["model", "install", "--json"], how);
  expect(again.json()).toMatchObject({ folder, installed: false, embedded: expect.any(Number) });
  expect(again.stderr).toContain("already installed");
  const status = { model: localModel.name, wanted: localModel.name, pending: 0 };
  expect((await scriptoriumProcess(["model", "status", "--json"], how)).json()).toMatchObject(status);
  const [first] = (await scriptoriumProcess(["search", "car trouble", "--json"], how)).json<
    { id: string; why: string[] }[]
  >();
  expect(first).toMatchObject({ id: "garage.txt", why: ["similar meaning"] });

  const server = await embeddingServer();
  appendFileSync(join(root, "scriptorium.yaml"), `search: { embeddings: { url: "${server.url}", model: other } }\n`);
  const next = await openApp(unwrap(loadConfig(root, { ...testEnvironment(), SCRIPTORIUM_MODEL_FOLDER: folder })));
  onTestFinished(() => next.close());
  const nearest = async () => {
    const found = await next.search.find.pages("car trouble", { scope: { kinds: ["source"] }, limit: 1 });
    return found.hits.map(({ id }) => id);
  };
  expect(await next.search.meaning.status()).toMatchObject({ model: localModel.name, embedded: 0 });
  expect(await nearest()).toEqual(["garage.txt"]);
  while ((await next.search.meaning.embedSome()) > 0) expect(await nearest()).toEqual(["garage.txt"]);
  expect(await next.search.meaning.status()).toMatchObject({ model: expect.stringMatching(/^other/), pending: 0 });
});

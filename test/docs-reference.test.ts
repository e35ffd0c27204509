import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { keysOf } from "../scripts/reference/keys.ts";
import { generatedPages } from "../scripts/reference/pages.ts";
import { configFile } from "../src/config/config.ts";
import { processVariables, userVariables } from "../src/config/variables.ts";
import { jsonSchema } from "../src/kernel/json-schema.ts";

const root = new URL("..", import.meta.url).pathname;
const docs = join(root, "docs");

describe("the reference", () => {
  test("P5: is what operations, schemas and commands say now; after a change run npm run docs:reference", async () => {
    const pages = await generatedPages(docs);
    const generated = ["reference", "public"].flatMap((folder) =>
      readdirSync(join(docs, folder)).map((name) => `${folder}/${name}`),
    );
    expect(generated.sort()).toEqual(Object.keys(pages).sort());
    for (const [path, text] of Object.entries(pages)) expect(readFileSync(join(docs, path), "utf8"), path).toBe(text);
  });

  test("P5: describes every key of scriptorium.yaml, and all of them are snake_case", () => {
    const keys = keysOf(jsonSchema(configFile));
    expect(keys.filter(({ schema }) => !schema.description).map(({ path }) => path)).toEqual([]);
    expect(keys.filter(({ path }) => !/^[a-z_.<>[\]]+$/.test(path)).map(({ path }) => path)).toEqual([]);
    for (const path of ["agent.args", "agent.scribe_bin", "crew.idle_minutes", "crew.budget.run_usd"]) {
      expect(keys.map((key) => key.path)).toContain(path);
    }
  });

  test("P5: lists every environment variable that the source names", () => {
    // For crash tests of our own; setting it kills the process.
    const internal = ["SCRIPTORIUM_CRASH_AT"];
    const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
    const named = files
      .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && path !== join("config", "variables.ts"))
      .flatMap((path) => readFileSync(join(root, "src", path), "utf8").match(/\bSCRIPTORIUM_[A-Z_]+\b/g) ?? []);
    const listed = [...Object.keys({ ...userVariables, ...processVariables }), ...internal];
    expect([...new Set(named)].sort()).toEqual(listed.sort());
  });
});

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "./support/workspace.ts";

const root = new URL("../", import.meta.url).pathname;

test("the published types compile in a project that has nothing else installed", { timeout: 120_000 }, () => {
  const folder = temporaryFolder();
  const types = join(folder, "types/library.d.ts");
  const script = `import { buildTypes } from "${root}scripts/build-types.mjs"; await buildTypes(${JSON.stringify(types)});`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: root });
  expect(readFileSync(types, "utf8")).not.toMatch(/\bimport\b.*["(]|reference types/);
  writeFileSync(
    join(folder, "use.mts"),
    `import { openWorkspace, type Workspace } from "./types/library.js";
     const workspace: Workspace = await openWorkspace(".");
     const entry = await workspace.call("fetch_entry", { id: "vision" });
     if (entry.ok) entry.value.content satisfies string;
     // @ts-expect-error the id is missing
     await workspace.call("fetch_entry", {});
     // @ts-expect-error no such operation
     await workspace.call("fetch_nothing", {});`,
  );
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--types", ""];
  execFileSync(join(root, "node_modules/.bin/tsc"), [...options, "use.mts"], { cwd: folder, stdio: "inherit" });
});

test("the licences of bundled packages and of the web application are shipped", () => {
  const licences = readFileSync(join(root, "dist/THIRD-PARTY-LICENSES.txt"), "utf8");
  for (const name of [
    "zod@",
    "kysely@",
    "unpdf@",
    "mammoth@",
    "react-dom@",
    "@mermaid-js/tiny@",
    "@radix-ui/react-icons@",
  ])
    expect(licences).toContain(`\n${name}`);
});

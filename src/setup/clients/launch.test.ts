import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { chooseLaunch } from "./launch.ts";

/** A folder for PATH with a `scriptorium` that belongs to the named package. */
function binOf(packageName: string, folder = "bin"): string {
  const root = mkdtempSync(join(tmpdir(), "scriptorium-launch-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const home = join(root, "lib", packageName);
  mkdirSync(join(home, "dist"), { recursive: true });
  writeFileSync(join(home, "package.json"), JSON.stringify({ name: packageName, version: "1.0.0" }));
  writeFileSync(join(home, "dist/scriptorium.js"), "#!/usr/bin/env node\n");
  chmodSync(join(home, "dist/scriptorium.js"), 0o755);
  const bin = join(root, folder);
  mkdirSync(bin, { recursive: true });
  symlinkSync(join(home, "dist/scriptorium.js"), join(bin, "scriptorium"));
  return bin;
}

test("an installed scriptorium is started by its name", () => {
  expect(chooseLaunch({ PATH: binOf("scriptorium") })).toMatchObject({ command: "scriptorium", isPortable: true });
});

test.each([
  ["a program of another package", () => binOf("other")],
  ["the folder that npx and npm scripts put on PATH", () => binOf("scriptorium", "node_modules/.bin")],
  ["nothing", () => ""],
])("with %s on PATH, a clone is started by its path", (_what, path) => {
  expect(chooseLaunch({ PATH: path() })).toMatchObject({
    command: "node",
    args: [expect.stringMatching(/dist\/scriptorium\.js$/)],
    isPortable: false,
  });
});

import { expect, test } from "vitest";
import { cacheNames, detectManager, isDependencyFile, manifestPart, setupHash, wantedSetup } from "./setup.ts";

const machine = { platform: "linux", arch: "x64", node: "v20.0.0" };
const detected = (names: string[], packageJson = "{}", yarnLock?: string) =>
  detectManager(new Set(["package.json", ...names]), { packageJson, yarnLock });

test.each<[string, string[], string, string | undefined, string | undefined]>([
  ["npm", ["package-lock.json"], "{}", undefined, "npm ci"],
  ["npm with a shrinkwrap", ["npm-shrinkwrap.json", "package-lock.json"], "{}", undefined, "npm ci"],
  ["pnpm", ["pnpm-lock.yaml"], "{}", undefined, "pnpm install --frozen-lockfile"],
  ["yarn 1", ["yarn.lock"], "{}", "# yarn lockfile v1\n", "yarn install --frozen-lockfile"],
  ["yarn 4 by its lockfile", ["yarn.lock"], "{}", "# x\n__metadata:\n  version: 8\n", "yarn install --immutable"],
  ["yarn 4 by its field", ["yarn.lock"], `{"packageManager":"yarn@4.1.0"}`, "", "yarn install --immutable"],
  [
    "the declared of two",
    ["package-lock.json", "yarn.lock"],
    `{"packageManager":"yarn@1.22.0"}`,
    "",
    "yarn install --frozen-lockfile",
  ],
  ["a declared one without its lockfile", ["package-lock.json"], `{"packageManager":"pnpm@9.0.0"}`, "", "npm ci"],
  ["no lockfile", [], "{}", undefined, undefined],
  ["a lockfile of another language", ["Cargo.lock"], "{}", undefined, undefined],
])("W5: %s is detected", (_name, names, packageJson, yarnLock, command) => {
  const found = detected(names, packageJson, yarnLock);
  expect(found && [found.manager, ...found.args].join(" ")).toBe(command);
});

test("W5: a lockfile without a package.json is not detected", () => {
  expect(detectManager(new Set(["package-lock.json"]), { packageJson: undefined, yarnLock: undefined })).toBe(
    undefined,
  );
});

test("W5: a plan's setup overrides the detected one, and one without commands turns it off", () => {
  const npm = { manager: "npm" as const, lockfile: "package-lock.json", command: ["npm", "ci"] };
  const own = { setup: { run: [["make", "deps"]], inputs: ["deps.lock"] } };
  expect(wantedSetup("auto", null, npm)).toMatchObject({ commands: [["npm", "ci"]], origin: "package-lock.json" });
  expect(wantedSetup("auto", own, npm)).toMatchObject({ commands: [["make", "deps"]], inputs: ["deps.lock"] });
  expect(wantedSetup("auto", { setup: { run: [], inputs: [] } }, npm)).toBe(undefined);
  expect(wantedSetup("none", own, npm)).toBe(undefined);
  expect(wantedSetup("auto", {}, undefined)).toBe(undefined);
});

test("W5: the files that decide an install include those of workspaces and patches, and none of node_modules", () => {
  const yes = [
    "package.json",
    "packages/a/package.json",
    "pnpm-workspace.yaml",
    "patches/x.patch",
    ".yarn/releases/y.cjs",
  ];
  const no = ["node_modules/a/package.json", "src/index.ts", "docs/patches/x", "package.json.md"];
  expect(yes.filter(isDependencyFile)).toEqual(yes);
  expect(no.filter(isDependencyFile)).toEqual([]);
});

test("W5: a new test script changes nothing, a new dependency or install script does", () => {
  const text = (more: object) => JSON.stringify({ name: "a", dependencies: { b: "1" }, ...more });
  const before = manifestPart(text({ scripts: { test: "vitest" } }));
  expect(manifestPart(text({ scripts: { test: "node --test" }, version: "2.0.0" }))).toBe(before);
  expect(manifestPart(text({ scripts: { postinstall: "node x.js" } }))).not.toBe(before);
  expect(manifestPart(text({ dependencies: { b: "2" } }))).not.toBe(before);
  expect(manifestPart("not JSON")).toBe("not JSON");
});

test("W5: the hash depends on commands, inputs, platform and Node", () => {
  const of = (commands: string[][], content: string, more: Partial<typeof machine> = {}) =>
    setupHash(commands, [["package-lock.json", content]], { ...machine, ...more });
  const all = [
    of([["npm", "ci"]], "one"),
    of([["npm", "install"]], "one"),
    of([["npm", "ci"]], "two"),
    of([["npm", "ci"]], "one", { arch: "arm64" }),
    of([["npm", "ci"]], "one", { node: "v24.0.0" }),
  ];
  expect(new Set(all).size).toBe(all.length);
  expect(of([["npm", "ci"]], "one")).toBe(all[0]);
});

test("W5: what an agent's files installed is found by its own run or its own deliverable only", () => {
  const person = cacheNames("h", { kind: "person" });
  const accepted = cacheNames("h", { kind: "accepted", run: "run-1" });
  const delivered = cacheNames("h", { kind: "deliverable", run: "run-1", tree: "t" });
  expect(person).toEqual(["h"]);
  expect(accepted.slice(0, 1)).toEqual(person);
  expect(delivered.slice(0, 2)).toEqual(accepted);
  const other = cacheNames("h", { kind: "deliverable", run: "run-2", tree: "t" });
  expect(other.filter((name) => delivered.includes(name))).toEqual(["h"]);
});

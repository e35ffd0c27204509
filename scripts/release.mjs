// Prepares a release as one commit and one tag. See docs/releasing.md.
//   node scripts/release.mjs 0.2.0 [--dry-run]
//   node scripts/release.mjs --notes 0.2.0      prints the CHANGELOG section of a version
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { "dry-run": { type: "boolean", default: false }, notes: { type: "string" } },
});
process.exitCode = options.notes === undefined ? release(positionals[0] ?? "") : printNotes(options.notes);

function release(version) {
  const changelog = readFileSync("CHANGELOG.md", "utf8");
  const current = JSON.parse(readFileSync("package.json", "utf8")).version;
  const problems = [
    !isSemver(version) && `"${version}" is not a version such as 0.2.0 or 0.2.0-rc.1`,
    isSemver(version) && compare(version, current) <= 0 && `${version} is not greater than ${current}`,
    git("status", "--porcelain") !== "" && "the working tree has uncommitted changes",
    git("branch", "--show-current") !== "main" && "the current branch is not main",
    git("tag", "--list", `v${version}`) !== "" && `the tag v${version} exists`,
    !/^- /m.test(sectionOf(changelog, "Unreleased") ?? "") && "CHANGELOG.md has no entries under Unreleased",
  ].filter(Boolean);
  for (const problem of problems) console.error(`release: ${problem}`);
  if (problems.length > 0) return 1;

  const released = withRelease(changelog, version, new Date().toISOString().slice(0, 10));
  const files = {
    "CHANGELOG.md": released,
    "package.json": withVersion(readFileSync("package.json", "utf8"), version, 1),
    // The lock file has it at the top and again for the root package.
    "package-lock.json": withVersion(readFileSync("package-lock.json", "utf8"), version, 2),
  };
  console.log(`${current} → ${version}: ${Object.keys(files).join(", ")}\n\n${sectionOf(released, version)}`);
  if (options["dry-run"]) {
    console.log("\nDry run: nothing was written.");
    return 0;
  }
  for (const [file, text] of Object.entries(files)) writeFileSync(file, text);
  git("commit", "--quiet", "--message", `Release ${version}`, "--", ...Object.keys(files));
  git("tag", "--annotate", "--message", `Release ${version}`, `v${version}`);
  console.log(`\nPublish it with: git push --atomic origin main v${version}`);
  return 0;
}

function printNotes(version) {
  const notes = sectionOf(readFileSync("CHANGELOG.md", "utf8"), version);
  if (notes === undefined) console.error(`release: CHANGELOG.md has no section ${version}`);
  else console.log(notes);
  return notes === undefined ? 1 : 0;
}

/** The text below `## <name>`, or below `## <name> — <date>`. */
function sectionOf(changelog, name) {
  const section = changelog.split(/^## /m).find((part) => part.split(/\s/, 1)[0] === name);
  return section?.slice(section.indexOf("\n")).trim();
}

/** Unreleased becomes the version, without the headings that have no entries; a new Unreleased is empty. */
function withRelease(changelog, version, date) {
  const entries = (sectionOf(changelog, "Unreleased") ?? "")
    .split(/^(?=### )/m)
    .filter((part) => /^- /m.test(part))
    .map((part) => part.trim())
    .join("\n\n");
  const [before, after] = changelog.split(/^## Unreleased[\s\S]*?(?=^## |$(?![\s\S]))/m);
  return `${before}## Unreleased\n\n## ${version} — ${date}\n\n${entries}\n\n${after}`.trimEnd().concat("\n");
}

function withVersion(json, version, times) {
  let left = times;
  return json.replace(/"version": "[^"]*"/g, (found) => (left-- > 0 ? `"version": "${version}"` : found));
}

function isSemver(version) {
  return /^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/.test(version);
}

/** Precedence as in semver 2.0: a prerelease comes before its release, numbers before words. */
function compare(a, b) {
  const parts = (version) => {
    const [, core, pre] = /^([^-]+)-?(.*)$/.exec(version);
    return { core: core.split("."), pre: pre === "" ? [] : pre.split(".") };
  };
  const [left, right] = [parts(a), parts(b)];
  const byCore = compareParts(left.core, right.core);
  if (byCore !== 0) return byCore;
  if (left.pre.length === 0 || right.pre.length === 0) return right.pre.length - left.pre.length;
  return compareParts(left.pre, right.pre);
}

function compareParts(left, right) {
  for (const [at, part] of left.entries()) {
    const other = right[at];
    if (other === undefined) return 1;
    if (part === other) continue;
    const [isNumber, isOtherNumber] = [part, other].map((text) => /^\d+$/.test(text));
    if (isNumber && isOtherNumber) return Number(part) - Number(other);
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
    return part < other ? -1 : 1;
  }
  return left.length - right.length;
}

function git(...args) {
  return execFileSync("git", args, { encoding: "utf8" }).trim();
}

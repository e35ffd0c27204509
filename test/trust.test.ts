import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { keysOf } from "../scripts/reference/keys.ts";
import { configFile } from "../src/config/config.ts";
import { keyTrust } from "../src/config/trust/keys.ts";
import { openTrust } from "../src/config/trust.ts";
import { jsonSchema } from "../src/kernel/json-schema.ts";
import { temporaryFolder } from "./support/workspace.ts";

const item = (...values: string[]) => ({
  name: "scriptorium.yaml",
  entries: values.map((value, n) => ({ key: `key_${n}`, value, why: "does something" })),
});
const now = new Date("2026-11-17T04:00:00Z");

function person() {
  const folder = temporaryFolder();
  const root = join(folder, "clone");
  mkdirSync(root);
  const env = { HOME: folder, XDG_STATE_HOME: join(folder, "state") };
  const records = join(folder, "state/scriptorium/allowed");
  const record = () => join(records, readdirSync(records)[0] ?? "");
  return { folder, root, env, record, trust: () => openTrust(root, env) };
}

describe("S5: the record of what a person allowed", () => {
  test("S5: an item is allowed for exactly the entries that were confirmed, in any order", () => {
    const { trust } = person();
    expect(trust().isAllowed(item())).toBe(true);
    expect(trust().isAllowed(item("./pwn.sh"))).toBe(false);
    trust().allow([item("./pwn.sh", "none")], "Ada", now);
    const asked = item("./pwn.sh", "none");
    expect(trust().isAllowed({ ...asked, entries: asked.entries.toReversed() })).toBe(true);
    expect(trust().isAllowed(item("./pwn.sh"))).toBe(false);
    expect(trust().isAllowed({ ...asked, name: ".git/config" })).toBe(false);
    expect(trust().changes(item("./other.sh"))).toEqual([
      { key: "key_0", before: "./pwn.sh", after: "./other.sh", why: "does something" },
      { key: "key_1", before: "none" },
    ]);
  });

  test("S5: it stays in force until it is revoked, and items do not replace each other", () => {
    const { trust } = person();
    const git = { ...item("lfs"), name: ".git/config" };
    trust().allow([item("a")], "Ada", now);
    trust().allow([git], "Ada", now);
    expect([trust().isAllowed(item("a")), trust().isAllowed(git)]).toEqual([true, true]);
    expect(trust().revoke()).toBe(true);
    expect([trust().isAllowed(item("a")), trust().revoke()]).toEqual([false, false]);
  });

  test("S5, T11: the file is readable by its owner only, and one that others can write does not count", () => {
    const { trust, record } = person();
    trust().allow([item("a")], "Ada", now);
    expect(statSync(record()).mode & 0o777).toBe(0o600);
    chmodSync(record(), 0o622);
    expect(trust().isAllowed(item("a"))).toBe(false);
  });

  test("S5, T13: a link in its place is not followed, and a record of another folder does not count", () => {
    const { folder, root, env, trust, record } = person();
    trust().allow([item("a")], "Ada", now);
    const text = readFileSync(record(), "utf8");
    const planted = join(root, "planted.json");
    writeFileSync(planted, text, { mode: 0o600 });
    const file = record();
    trust().revoke();
    symlinkSync(planted, file);
    expect(trust().isAllowed(item("a"))).toBe(false);
    trust().allow([item("b")], "Ada", now);
    expect(readFileSync(planted, "utf8")).toBe(text);
    writeFileSync(file, text.replace(root, join(folder, "elsewhere")), { mode: 0o600 });
    expect(openTrust(root, env).isAllowed(item("a"))).toBe(false);
  });

  test("S5: a repository cannot hold its own confirmation", () => {
    const { root } = person();
    const inside = openTrust(root, { XDG_STATE_HOME: join(root, "state") });
    expect(() => inside.allow([item("a")], "Ada", now)).toThrow(/XDG_STATE_HOME/);
    const outer = openTrust(root, { XDG_STATE_HOME: join(root, "../state") });
    outer.allow([item("a")], "Ada", now);
    mkdirSync(join(root, "state"), { recursive: true });
    expect(inside.isAllowed(item("a"))).toBe(false);
  });

  test("S5: every workspace in a trusted folder is trusted, and none beside it", () => {
    const { folder, root } = person();
    const trusted = (list: string) =>
      openTrust(root, { HOME: folder, SCRIPTORIUM_TRUSTED_FOLDERS: list }).isAllowed(item("a"));
    expect(trusted(`/nowhere:${folder}`)).toBe(true);
    expect(trusted(root)).toBe(true);
    expect(trusted(join(folder, "clo"))).toBe(false);
    expect(trusted("")).toBe(false);
    expect(trusted(".")).toBe(false);
  });
});

describe("S5: the keys of scriptorium.yaml", () => {
  test("S5: every key is classified as plain or sensitive; add a new one to src/config/trust/keys.ts", () => {
    const paths = keysOf(jsonSchema(configFile)).map(({ path }) => path);
    const leaves = paths.filter(
      (path) => !paths.some((other) => /^[.[<]/.test(other.slice(path.length)) && other.startsWith(path)),
    );
    expect(Object.keys(keyTrust).sort()).toEqual(leaves.sort());
  });
});

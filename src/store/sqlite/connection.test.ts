import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { builtin, type SqliteBinding, shipped } from "./binding.ts";
import { openConnection } from "./connection.ts";

const folder = mkdtempSync(join(tmpdir(), "scriptorium-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const bindings: [string, SqliteBinding][] = [["shipped", shipped()]];
const own = builtin();
if (own) bindings.push(["Node's", own]);

describe.each(bindings)("a connection of the %s binding", (name, binding) => {
  let made = 0;
  const fileName = () => join(folder, `${name}-${++made}.db`);
  const open = (file = fileName(), busyMs = 0) => openConnection(file, busyMs, binding);
  const codeOf = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      return (error as { code?: string }).code;
    }
    return undefined;
  };

  test("returns plain objects, BLOBs as buffers, and rows of INSERT … RETURNING", () => {
    const db = open();
    db.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b BLOB, c REAL)");
    const insert = db.prepare("INSERT INTO t (a, b, c) VALUES (?, ?, ?) RETURNING id");
    expect(insert.reader).toBe(true);
    expect(insert.all(["ä", Buffer.from([1, 0, 2]), 1.5])).toEqual([{ id: 1 }]);
    const [row] = db.prepare("SELECT * FROM t").all([]);
    expect(row).toStrictEqual({ id: 1, a: "ä", b: Buffer.from([1, 0, 2]), c: 1.5 });
    const update = db.prepare("UPDATE t SET a = ?");
    expect(update.reader).toBe(false);
    expect(update.run([null])).toMatchObject({ changes: 1 });
    expect(() => update.run([undefined])).toThrow("undefined");
    db.close();
    db.close();
  });

  test("names SQLite's result codes", () => {
    const file = fileName();
    const [one, two] = [open(file), open(file)];
    one.exec("CREATE TABLE t (a TEXT UNIQUE); BEGIN EXCLUSIVE");
    expect(codeOf(() => two.exec("BEGIN IMMEDIATE"))).toBe("SQLITE_BUSY");
    one.exec("INSERT INTO t VALUES ('x'); COMMIT");
    expect(codeOf(() => two.prepare("INSERT INTO t VALUES (?)").run(["x"]))).toBe("SQLITE_CONSTRAINT");
    two.exec("PRAGMA query_only = ON");
    expect(codeOf(() => two.exec("DELETE FROM t"))).toBe("SQLITE_READONLY");
    writeFileSync(join(folder, "noise.db"), "n".repeat(4096));
    expect(codeOf(() => open(join(folder, "noise.db")).exec("PRAGMA journal_mode = WAL"))).toBe("SQLITE_NOTADB");
    expect(codeOf(() => open(join(folder, "no/such/folder.db")))).toBe("SQLITE_CANTOPEN");
    expect(codeOf(() => one.prepare("SELECT * FROM missing"))).toBe("SQLITE_ERROR");
  });

  test("knows whether a transaction is open, also after SQLite rolled it back itself", () => {
    const db = open();
    db.exec("CREATE TABLE t (a TEXT); PRAGMA max_page_count = 10");
    expect(db.inTransaction).toBe(false);
    db.exec("BEGIN IMMEDIATE; SAVEPOINT one");
    expect(db.inTransaction).toBe(true);
    expect(codeOf(() => db.prepare("INSERT OR ROLLBACK INTO t VALUES (?)").run(["x".repeat(100_000)]))).toBe(
      "SQLITE_FULL",
    );
    expect(db.inTransaction).toBe(false);
  });
});

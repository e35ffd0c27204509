import { expect, test } from "vitest";
import { crewBlock } from "../../config/crew.ts";
import { seatbeltProfile } from "./seatbelt.ts";

const access = {
  folder: "/Users/ada/work",
  write: true,
  limits: crewBlock.parse({}).limits,
  env: {},
};
const home = "/private/tmp/scriptorium-home";
const linesOf = (profile: string, start: string) => profile.split("\n").filter((line) => line.startsWith(start));

test("T32: on macOS everything is denied that the profile does not list", () => {
  const profile = seatbeltProfile(access, home);
  expect(profile.split("\n").slice(0, 2)).toEqual(["(version 1)", "(deny default)"]);
  const [reading = ""] = linesOf(profile, "(allow file-read* ");
  expect(reading).toContain('(subpath "/Users/ada/work")');
  expect(reading).not.toMatch(/\(subpath "\/(Users|Users\/ada|private|private\/etc|private\/var|)"\)/);
  const [writing = ""] = linesOf(profile, "(allow file-write* ");
  expect(writing.match(/subpath "[^"]+"/g)).toEqual([`subpath "${home}"`, 'subpath "/Users/ada/work"']);
  expect(linesOf(profile, "(allow network")).toEqual([]);
});

test("a folder that may not be written is readable only, and its repository never writable", () => {
  const profile = seatbeltProfile({ ...access, write: false }, home);
  const [writing = ""] = linesOf(profile, "(allow file-write* ");
  expect(writing).not.toContain("/Users/ada/work");
  expect(profile).toContain('(deny file-write* (subpath "/Users/ada/work/.git"))');
});

test("V1: a hidden folder is denied after its parent was allowed, because the last rule counts", () => {
  const state = "/Users/ada/work/.scriptorium";
  const lines = seatbeltProfile({ ...access, hide: [state] }, home).split("\n");
  const denied = lines.indexOf(`(deny file-read* file-write* (subpath "${state}"))`);
  expect(denied).toBeGreaterThan(lines.findIndex((line) => line.startsWith("(allow file-read* ")));
});

test("sockets that it may use are allowed one by one, and a quotation mark in a path ends nothing", () => {
  const profile = seatbeltProfile({ ...access, read: ["/tmp/tools/socket", '/tmp/a") (allow default'] }, home);
  expect(profile).toContain('(remote unix-socket (path-literal "/tmp/tools/socket"))');
  expect(profile).toContain('(subpath "/tmp/a\\") (allow default")');
});

test("the login keeps its path, because nothing can be mapped to another", () => {
  const own = [{ from: "/Users/ada/.claude/.credentials.json", to: "/elsewhere" }];
  const [writing = ""] = linesOf(seatbeltProfile({ ...access, own }, home), "(allow file-write* ");
  expect(writing).toContain('(subpath "/Users/ada/.claude/.credentials.json")');
  expect(writing).not.toContain("/elsewhere");
});

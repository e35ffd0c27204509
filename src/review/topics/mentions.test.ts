import { expect, test } from "vitest";
import type { Name } from "../../people/names.ts";
import { mentionsIn } from "./mentions.ts";

const names: Name[] = [
  { kind: "person", name: "Ada", rank: "admin" },
  { kind: "person", name: "Ada Lovelace", rank: "collaborator" },
  { kind: "person", name: "Grace Hopper", rank: "reader" },
  { kind: "agent", name: "engineer" },
];

test.each([
  ["@Ada please look", ["Ada"]],
  ["@Ada Lovelace, please look", ["Ada Lovelace"]],
  ["ask (@grace hopper) and @engineer.", ["Grace Hopper", "engineer"]],
  ["@Ada and @ada again", ["Ada"]],
  ["mail ada@Ada or x.@Ada", []],
  ["write to grace@example.org", []],
  ["@Adam and @Ada_x and @Ada.example.org", []],
  ["@nobody is plain text", []],
  ["`@Ada` and ``a ` @Ada``", []],
  ["```\n@Ada\n```\n@engineer", ["engineer"]],
  ["a span `over\n@Ada lines` and @Grace Hopper", ["Grace Hopper"]],
])("%j mentions %j", (text, expected) => {
  expect(mentionsIn(text, names).map(({ name }) => name)).toEqual(expected);
});

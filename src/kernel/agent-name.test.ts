import { expect, test } from "vitest";
import { partsOfAgentName } from "./agent-name.ts";

test.each([
  ["vm:12:345:a.b.c.d/5/worker", { process: "vm:12:345:a.b.c.d", host: "vm", part: "worker" }],
  ["vm:12:345/7/qc", { process: "vm:12:345", host: "vm", part: "qc" }],
  ["vm:12:345:a.b.c.d/7", { process: "vm:12:345:a.b.c.d", host: "vm" }],
  ["vm:12:345:a.b.c.d", { process: "vm:12:345:a.b.c.d", host: "vm" }],
  ["Ada Lovelace", undefined],
  ["agent", undefined],
])("names of agents and of their processes are recognised: %s", (name, parts) => {
  expect(partsOfAgentName(name)).toEqual(parts);
});

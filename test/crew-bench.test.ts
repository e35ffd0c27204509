import { expect, onTestFinished, test } from "vitest";
import { compare } from "../bench/crew/compare.ts";
import { openPlace } from "../bench/support/place.ts";
import { findSandbox } from "../src/agents/sandbox.ts";
import { unwrap } from "../src/kernel/result.ts";

test("O17: the crew bench compares a crew with one careful agent, and both get every task right", async () => {
  const place = openPlace();
  onTestFinished(() => place.leave());
  const sandbox = unwrap(await findSandbox("none", place.environment));
  const size = { name: "tiny", tasks: 8, files: 8 };
  const { rows } = await compare(place, size, sandbox, (text) => Math.ceil(text.length / 4));
  const row = (what: string) => rows.find((one) => one.what.startsWith(what));
  expect(row("one agent")?.figures).toMatchObject({ "right %": 100 });
  expect(row("crew")?.figures).toMatchObject({ "right %": 100 });
  expect(row("worker's first request without tools")?.target).toMatchObject({ met: true });
  expect(row("errors that were accepted")?.target).toMatchObject({ met: true });
  expect(row("repeats removed")?.target).toMatchObject({ met: true });
});

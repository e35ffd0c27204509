import { expect, test } from "vitest";
import { agentOf, firstWords, withoutCommands, withoutSigns } from "./plain.ts";

test.each([
  ["a «hit» in [[notes|words]] and [there](x.md)", "a «hit» in words and there"],
  [
    "| state | mail | «webhook» | |---|---|---| | accepted | yes | no | | out for…",
    "state · mail · «webhook» · accepted · yes · no · out for…",
  ],
  [
    "…|---|---| | `mail.paused` | keeps messages | | `«webhook».paused` | the same | |…",
    "…mail.paused · keeps messages · «webhook».paused · the same…",
  ],
  [
    "**Bold**, *so*, _too_ and `code`, a--b, x - y, snake_case_name, 2 * 3 * 4",
    "Bold, so, too and code, a--b, x - y, snake_case_name, 2 * 3 * 4",
  ],
])("R20: the snippet %j is shown as %j", (text, shown) => {
  expect(withoutSigns(text)).toBe(shown);
});

test("R20: the first words of a text are one line", () => {
  expect(firstWords("# Head\n\n- **Which** [[views]]?", 100)).toBe("Head Which views?");
});

test("U5: the browser shows the record without commands, and agents in words", () => {
  expect(withoutCommands("task 1.1 waits for the approval of a person: scriptorium task approve task-1")).toBe(
    "task 1.1 waits for the approval of a person",
  );
  expect(
    withoutCommands("task 1, task 2 wait for answers: scriptorium task approve t-1; scriptorium task approve t-2; a"),
  ).toBe("task 1, task 2 wait for answers; a");
  expect(withoutCommands("Ada took over task 1; hand it back with: scriptorium task hand-back t-1")).toBe(
    "Ada took over task 1; hand it back",
  );
  expect(withoutCommands("retry task 1: scriptorium task retry t-1, then scriptorium run resume r-1")).toBe(
    "retry task 1",
  );
  expect(withoutCommands("the page says: scriptoria")).toBe("the page says: scriptoria");
  expect(agentOf("vm:5579:221072/5/worker")).toBe("a worker on vm");
  expect(agentOf("vm:5579:221072/7/qc")).toBe("a verifier on vm");
  expect(agentOf("vm:5579:221072/7")).toBe("the crew on vm");
  expect(agentOf("vm:5579:221072:0035969e.3d036f29.eb10ff4a.aeee578b/5/worker")).toBe("a worker on vm");
  expect(agentOf("Ada Lovelace")).toBeUndefined();
});

import { expect, test } from "vitest";
import { firstWords, withoutSigns } from "./plain.ts";

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

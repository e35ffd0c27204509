import { describe, expect, test } from "vitest";
import { unwrap } from "../../kernel/result.ts";
import { withAgentKeys } from "./edit.ts";

const claude = { runner: "claude", model: undefined, command: undefined };
const gemini = { runner: "acp", model: undefined, command: ["gemini", "--acp"], env: ["GEMINI_API_KEY"] };

describe("R17: the agent block is edited without touching the rest of scriptorium.yaml", () => {
  test.each([
    [
      "an empty file",
      "",
      "agent:\n  author_name: Scriptorium agent\n  author_email: agent@example.org\n  runner: claude\n",
    ],
    [
      "a file without a last line ending",
      "# Ours\nname: x # the name",
      "# Ours\nname: x # the name\nagent:\n  author_name: Scriptorium agent\n  author_email: agent@example.org\n  runner: claude\n",
    ],
    [
      "a file with CRLF",
      "name: x\r\n",
      "name: x\r\nagent:\r\n  author_name: Scriptorium agent\r\n  author_email: agent@example.org\r\n  runner: claude\r\n",
    ],
    [
      "a block with another runner, comments and an order of its own",
      "agent: # ours\n    runner: acp # any\n    command:\n      - my-agent\n      - --acp # speaks ACP\n    # who\n    author_name: A\n    author_email: a@example.org # mail\n\n# end\nname: x\n",
      "agent: # ours\n    runner: claude # any\n    # who\n    author_name: A\n    author_email: a@example.org # mail\n\n# end\nname: x\n",
    ],
    [
      "a block in braces",
      "agent: {author_name: A, author_email: a@example.org, runner: codex}\nname: x\n",
      "agent: { author_name: A, author_email: a@example.org, runner: claude }\nname: x\n",
    ],
  ])("R17: %s", (_what, before, after) => {
    expect(unwrap(withAgentKeys(before, claude))).toBe(after);
  });

  test("R17: new keys follow the last line of the block, with its indentation and line endings", () => {
    const before = "agent:\r\n   author_name: A\r\n   author_email: a@example.org # mail\r\nname: x\r\n";
    const added = "   runner: acp\r\n   command: [ gemini, --acp ]\r\n   env: [ GEMINI_API_KEY ]\r\n";
    expect(unwrap(withAgentKeys(before, gemini))).toBe(before.replace("name: x", `${added}name: x`));
  });

  test.each([
    ["comments in braces", "agent: {author_name: A, # me\n  author_email: a@example.org}\n", /by hand/],
    ["a file in braces", "{name: x}\n", /by hand/],
    ["an invalid file", "name: [\n", /scriptorium\.yaml:/],
  ])("R17: %s are refused with the text to write", (_what, before, message) => {
    const done = withAgentKeys(before, claude);
    expect(done.ok ? "" : done.problem.message).toMatch(message);
  });
});

import { describe, expect, test } from "vitest";
import { addressIn, forgeOf, isAlreadyOpen, openingCommand, repositoryOf } from "./pull-request.ts";

describe("O11: the forge of a remote", () => {
  test.each([
    ["git@github.example.org:acme/mail.git", "github", "github.example.org/acme/mail"],
    ["https://github.example.org/acme/mail.git", "github", "github.example.org/acme/mail"],
    ["https://ada:secret@gitlab.example.org/acme/sub/mail", "gitlab", "gitlab.example.org/acme/sub/mail"],
    ["ssh://git@gitlab.example.org:2222/acme/mail.git/", "gitlab", "gitlab.example.org/acme/mail"],
    ["https://notgithub.example.org/acme/mail", undefined, "notgithub.example.org/acme/mail"],
    ["https://code.example.org/github/mail", undefined, "code.example.org/github/mail"],
    ["/srv/git/mail.git", undefined, undefined],
    ["../github/mail.git", undefined, undefined],
    ["C:\\git\\mail", undefined, undefined],
  ])("%s", (url, forge, repository) => {
    expect([forgeOf(url), repositoryOf(url)]).toEqual([forge, repository]);
  });

  test("a text is cut at the limit of the forge, and a title is one line and never an option", () => {
    const request = { repository: undefined, branch: "b", base: undefined, draft: false };
    const long = { ...request, title: "--web\nRun: x", text: "Über alles\n".repeat(20_000) };
    const github = openingCommand("github", long);
    expect(github.args).toEqual(["pr", "create", "--head=b", "--title=--web Run: x", "--body-file=-"]);
    expect(Buffer.byteLength(github.input)).toBeLessThanOrEqual(60_000);
    expect(github.input).toMatch(/Über alles\n\n… The rest of the report is cut here\.\n$/);
    const gitlab = openingCommand("gitlab", { ...long, base: "main", draft: true });
    expect(gitlab.args.at(-1)).toBe("--draft");
    expect(Math.max(...gitlab.args.map((one) => Buffer.byteLength(one)))).toBeLessThan(128 * 1024);
  });

  test.each([
    ['a pull request for branch "a" into branch "main" already exists:\nhttps://github.example.org/a/b/pull/7', true],
    ["409 {message: [Another open merge request already exists for this source branch: !5]}", true],
    ["pull request create failed: No commits between main and a", false],
    ["the label already exists", false],
  ])("what the program says of a request that is open: %s", (printed, open) => {
    expect(isAlreadyOpen(printed)).toBe(open);
  });

  test("the address is found in what the program prints", () => {
    expect(addressIn("Creating…\nhttps://github.example.org/acme/mail/pull/7\n")).toBe(
      "https://github.example.org/acme/mail/pull/7",
    );
  });
});

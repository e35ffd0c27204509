import { describe, expect, test } from "vitest";
import { distinctiveWords, relevant } from "./relevance.ts";

const passage = (body: string, heading = "") => ({ title: "Decisions", heading, body });
const cache = passage("Chose SQLite for the Quaywise cache, because one file is enough.");

describe("a passage is recalled for a prompt", () => {
  test.each([
    "how does the Quaywise cache work?",
    "Quaywise?",
    "Add retries to the client of Quaywise",
    "why did we choose SQLite for caching",
    "sqlite cache",
  ])("%j: it shares enough of the distinctive words", (prompt) => {
    expect(relevant(prompt, [cache])).toEqual([cache]);
  });

  test.each([
    "fix the typo in this file",
    "yes, please continue",
    "run the tests and commit",
    "add a cache for the avatars of users in the sidebar component",
    "rename one file",
    "",
  ])("%j: not, for it shares nothing distinctive", (prompt) => {
    expect(relevant(prompt, [cache])).toEqual([]);
  });

  test("headings and titles count, and the order of the search is kept", () => {
    const hits = [
      passage("Three times.", "Retry policy of webhooks"),
      cache,
      passage("Webhook retries are idempotent."),
    ];
    expect(relevant("what is the retry policy for webhooks?", hits)).toEqual([hits[0], hits[2]]);
  });

  test("an identifier counts as a whole and not by its parts", () => {
    const task = passage("The next task is claimed by priority.");
    expect(relevant("why is claimNextTask slow", [task])).toEqual([]);
    const named = passage("claimNextTask reads the oldest row.");
    expect(relevant("why is claimNextTask slow", [task, named])).toEqual([named]);
  });
});

test("names and identifiers weigh more than other words, and instructions weigh nothing", () => {
  expect(
    Object.fromEntries(distinctiveWords("Please add OAuth2 to the Quaywise login. Update snake_case names")),
  ).toEqual({
    oauth2: 2,
    quaywis: 2,
    login: 1,
    snakecas: 2,
  });
});

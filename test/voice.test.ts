import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/**
 * Phrases of a translated text that kept coming back, each with the words to use. Few and certain rather than
 * many: a false alarm costs more than a phrase that slips through.
 */
const phrases: [phrase: RegExp, instead: string][] = [
  [/\bgoes before\b/, "overrides, or precedes"],
  [/\bat the most\b/, "maximum, or at most"],
  [/\bgiven up\b|\bgive (?:it|them|a (?:run|task)) up\b/, "cancelled, or failed"],
  [/\bcarr(?:y|ies|ied|ying) (?:it |them )?out\b/, "run, or execute"],
  [/(?<!there )\b(?:is|are|was|were) no (?!longer|more|other|different|better|worse)[a-z$`]/i, "is not"],
  [/\bthere (?:is|are) an? [^.;:]{1,40} already\b/, "already exists"],
  [/\b(?:is|are|was|were) told\b(?! apart)/, "gets, receives, or reads"],
  [/(?:^|[.:] |\/\/ |\* )(?:Whoever|Who has|That which|What others)\b/, "begin with the subject"],
  [/\bany more\b/, "no longer"],
  [/\b(?:knowledge base|(?:shared|the|this|one) book)\b/i, "wiki"],
  [/(?<![-/])\bwalls\b(?!-)/, "sandbox"],
  [/\bin work\b/, "in progress"],
  [/\b(?:agents?|workers?|planner|verifier) at work\b/, "running"],
  [/\bsigns? of life\b/, "heartbeat"],
  [/\bwhile you were at it\b/, "since it was read"],
  [/\bdo you mean\b/, "did you mean"],
  [/\bre-?t(?:old|ell(?:s|ing)?)\b/, "rewritten for, or write for"],
  [/\banew\b/, "again"],
  [/\bunder way\b/, "in progress, or running"],
  [/\bbrought along\b|\bbe brought\b/, "bundled, or downloaded"],
  [/\bas (?:it|they) came\b/, "unchanged"],
  [/(?<!by )\bhand(?:s|ed)? in\b/, "submit"],
  [/\bgo(?:es)? on (?:with|from|where)\b/, "continue"],
  [/\btak(?:e|es|en) (?:it |them )?back\b/, "revert"],
  [/\bgiven back\b/, "released, or returned"],
  [/\btried again\b/, "retried"],
  [/\bcomes? to (?:its|their) end\b/, "finishes"],
  [/\bis said\b|\bit is told\b/, "begin with the subject"],
];

const places =
  "src web plugin templates scripts docs ARCHITECTURE.md CONTRIBUTING.md README.md CHANGELOG.md SECURITY.md";

test("no phrase that reads like a translation is in code, comments, docs or changelog", () => {
  const root = new URL("..", import.meta.url).pathname;
  const files = execFileSync("git", ["ls-files", "--", ...places.split(" ")], { cwd: root, encoding: "utf8" })
    .split("\n")
    .filter((path) => /\.(?:tsx?|mjs|md|ya?ml|json|sql|css)$/.test(path))
    .filter((path) => !/package-lock\.json$/.test(path));
  const found = files.flatMap((path) =>
    readFileSync(`${root}${path}`, "utf8")
      .split("\n")
      .flatMap((line, at) =>
        phrases.flatMap(([phrase, instead]) => {
          const [hit] = phrase.exec(line) ?? [];
          return hit === undefined ? [] : `${path}:${at + 1}: "${hit}"; use: ${instead}`;
        }),
      ),
  );
  expect(found).toEqual([]);
});

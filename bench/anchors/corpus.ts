import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { seeded } from "../support/measure.ts";

export type Page = { name: string; text: string };

/** Runbooks as teams write them, full of sentences that return from page to page and within one, and our own docs. */
export const corpus = (seed = 0): Page[] => [...Array.from({ length: 24 }, (_, n) => runbook(n, seed)), ...ownPages()];

function ownPages(): Page[] {
  const docs = ["docs", "docs/guides", "docs/explanation", "docs/decisions"];
  const folders = [".", ...docs, "example/wiki", "example/wiki/runbooks", "example/wiki/services"];
  return folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".md"))
      .sort()
      .map((name) => ({ name: join(folder, name), text: readFileSync(join(folder, name), "utf8") }))
      .filter(({ text }) => text.length > 600 && text.length < 60_000),
  );
}

const services = ["ledger", "mailer", "beacon", "courier", "archive", "gateway", "warden", "almanac"];
const places = ["staging", "production", "the east region", "the west region", "the training site"];
const owners = ["the tide team", "the lantern team", "whoever is on call", "the harbour desk"];
const causes = [
  "a queue that nobody drained",
  "a certificate that ran out",
  "a disk that filled up overnight",
  "a release that was only half rolled out",
  "a clock that had drifted by minutes",
  "a client that retried without waiting",
];
const remedies = [
  "restart one instance at a time and watch the error rate settle",
  "drain the node before you touch its configuration",
  "roll back to the previous release and write down its number",
  "raise the limit for an hour, not for good",
  "ask the database which query has waited longest",
  "move the traffic away first and look for the reason after that",
];
const remarks = [
  "See the dashboard before you act.",
  "Write down the time at which you began.",
  "If in doubt, wake somebody up.",
  "This has happened before.",
  "Nobody is blamed for asking.",
];

function runbook(n: number, seed: number): Page {
  const chance = seeded(seed + 1000 + n);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T;
  const number = (most: number) => String(1 + Math.floor(chance() * most));
  const service = services[n % services.length] as string;

  const sentence = () =>
    pick([
      () => `The ${pick(services)} in ${pick(places)} stopped ${number(20)} times because of ${pick(causes)}.`,
      () => `When it happens, ${pick(remedies)}.`,
      () => `**${pick(owners)}** answers for the ${pick(services)} within ${number(90)} minutes.`,
      () => `Its limit is \`max_${pick(services)} = ${number(900)}\`, which is enough for ${pick(places)}.`,
      () => `We saw *${pick(causes)}* in ${pick(places)}, and ${pick(owners)} had to ${pick(remedies)}.`,
      () => pick(remarks),
    ])();
  const paragraph = () =>
    wrap(Array.from({ length: 2 + Math.floor(chance() * 4) }, sentence).join(" "), n % 3 === 0 ? 80 : 1000);
  const list = (mark: (i: number) => string) =>
    Array.from({ length: 3 + Math.floor(chance() * 3) }, (_, i) => `${mark(i)} ${sentence()}`).join("\n");
  const table = () =>
    [
      "| service | owner | minutes |",
      "|---|---|---|",
      ...Array.from({ length: 4 }, () => `| ${pick(services)} | ${pick(owners)} | ${number(90)} |`),
    ].join("\n");
  const code = () => `\`\`\`sh\n${pick(services)}ctl drain --node ${number(9)}\n${pick(services)}ctl status\n\`\`\``;

  const section = (title: string) =>
    [
      `## ${title}`,
      paragraph(),
      pick([() => list(() => "-"), () => list((i) => `${i + 1}.`), table, code])(),
      paragraph(),
      remarks[0],
    ].join("\n\n");
  const titles = ["Symptoms", "First steps", "In staging", "In production", "Afterwards", "Who to call"];
  const text = `# Runbook ${n + 1}: ${service}\n\n${paragraph()}\n\n${titles.map(section).join("\n\n")}\n`;
  return { name: `runbook-${n + 1}.md`, text };
}

export function wrap(text: string, width: number): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) as string;
    if (line !== "" && line.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join("\n");
}

/** One line that markdown leaves alone: text of agents must not become headings, links or HTML of ours. */
export const plainly = (text: string) =>
  text
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\\`*_[\]<|#]/g, (mark) => `\\${mark}`)
    .trim();

export const table = (head: string[], rows: string[][]) =>
  [
    `| ${head.join(" | ")} |`,
    `|${head.map(() => "---").join("|")}|`,
    ...rows.map((row) => `| ${row.map(plainly).join(" | ")} |`),
  ].join("\n");

/** A link from a report to the node of a task: the browser opens its page; at a shell, `scriptorium task show` and `graph subgraph` take the same id. */
export const nodeLink = (task: string) => `[task:${task}](/tasks/${task})`;

/** Untrusted markdown as a quotation: none of its headings, fences or comments reaches beyond it. */
export const quotation = (text: string) =>
  text
    .replaceAll(/\r\n?/g, "\n")
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");

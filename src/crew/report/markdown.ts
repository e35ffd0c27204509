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

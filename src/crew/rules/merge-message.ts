type Merged = {
  run: string;
  title: string;
  tasks: { number: string; title: string; state: string }[];
  files: number;
  commit: string;
};

const mostTasks = 50;

/** The message of the commit that merges a run: its title, what was accepted, and trailers. */
export function runMergeMessage({ run, title, tasks, files, commit }: Merged): string {
  const accepted = tasks.filter(({ state }) => state === "completed");
  const left = tasks.length - accepted.length;
  const listed = accepted.slice(0, mostTasks).map(({ number, title }) => `- ${number}: ${oneLine(title)}`);
  return [
    oneLine(title).slice(0, 200) || `Merge ${run}`,
    `${accepted.length} of ${tasks.length} tasks accepted${left > 0 ? `, ${left} not` : ""}; ${files} ${files === 1 ? "file" : "files"} changed.`,
    [...listed, ...(accepted.length > mostTasks ? [`- and ${accepted.length - mostTasks} more`] : [])].join("\n"),
    `Run: ${run}\nAccepted: ${commit}\n`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Without line breaks and control characters, which could pass for trailers. */
export const oneLine = (text: string) => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();

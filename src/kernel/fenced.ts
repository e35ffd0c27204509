/** Fences untrusted text with more backticks than it contains, so that it cannot end its block. */
export function fenced(label: string, text: string): string {
  const longest = Math.max(3, ...[...text.matchAll(/`+/g)].map((run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${label}\n${text}\n${fence}`;
}

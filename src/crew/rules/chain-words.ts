/** Values in the plan's file are JSON, so that any text fits into a line. */
export const quoted = String.raw`"(?:[^"\\]|\\.)*"`;
export const words = String.raw`\[ *(?:${quoted}(?: *, *${quoted})*)? *\]`;

export const commandText = (command: readonly string[]) =>
  `[${command.map((word) => JSON.stringify(word)).join(", ")}]`;

export function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

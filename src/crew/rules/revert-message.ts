import { oneLine } from "./merge-message.ts";

/** Names a commit whose accepted work, with all before it, is reverted. */
export const revertedTrailer = "Reverted";
/** Names the commit whose files are restored. */
export const backToTrailer = "Back-to";

type Reverted = { run: string; title: string; files: number; reverted: string[]; backTo: string | undefined };

/** The message of the commit that takes the accepted work of a run back. */
export const runRevertMessage = ({ run, title, files, reverted, backTo }: Reverted): string =>
  [
    `Revert ${JSON.stringify(oneLine(title).slice(0, 180) || run)}`,
    `Reverts the accepted work of run ${run}: ${files} ${files === 1 ? "file" : "files"} changed.`,
    [
      `Run: ${run}`,
      ...reverted.map((commit) => `${revertedTrailer}: ${commit}`),
      ...(backTo === undefined ? [] : [`${backToTrailer}: ${backTo}`]),
      "",
    ].join("\n"),
  ].join("\n\n");

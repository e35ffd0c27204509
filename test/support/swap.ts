import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";

const script = `
const { renameSync, rmSync } = require("node:fs");
const [folder, link, aside, times] = process.argv.slice(1);
const attempt = (act) => { try { act(); return true; } catch { return false; } };
const move = (from, to) => attempt(() => renameSync(from, to));
process.stdout.write("on");
for (let n = 0; n < Number(times) / 4; n++) {
  if (!move(folder, aside)) continue;
  if (move(link, folder)) while (!move(folder, link));
  // Whoever writes may have made the folder anew while there was none.
  while (!move(aside, folder)) attempt(() => rmSync(folder, { recursive: true, force: true }));
}
`;

/** A process that puts a link to `outside` in the folder's place and takes it away again, so many renames long. */
export async function swapping(
  folder: string,
  outside: string,
  times: number,
): Promise<{ isOver(): boolean; ended: Promise<void> }> {
  mkdirSync(folder, { recursive: true });
  const link = `${folder}-link`;
  symlinkSync(outside, link);
  const child: ChildProcess = spawn(process.execPath, ["-e", script, folder, link, `${folder}-aside`, String(times)]);
  let over = false;
  const ended = new Promise<void>((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => {
      over = true;
      if (code === 0) done();
      else fail(new Error(`the swapping process ended with ${code}`));
    });
  });
  await new Promise((on) => child.stdout?.once("data", on));
  return { isOver: () => over, ended };
}

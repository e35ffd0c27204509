import { lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { exportOkf, importOkf } from "../review/okf/operations.ts";
import type { Confirmation } from "./decide.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, localPerson, print, report, withApp } from "./session.ts";
import { shell } from "./shell.ts";
import { inertly, plural } from "./text.ts";

const mostBytes = 4 * 1024 * 1024;
const mostFiles = 20_000;
const deepest = 40;

export const exportCommand = (common: () => Common) =>
  new Command("export")
    .description("export pages as a bundle in the Open Knowledge Format, with provenance and trust")
    .requiredOption("--okf <folder>", "folder to write; it must be empty or not exist")
    .option("--under <path>", "only this page, or the pages of this folder")
    .action(({ okf, under }) =>
      withApp(common(), async (app) => {
        const folder = resolve(shell().cwd, okf);
        const there = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
          if (error.code === "ENOENT") return [];
          throw error;
        });
        if (there.length > 0)
          return print(common(), refuse("conflict", `${folder} is not empty; name another folder`), () => "");
        const caller = await localPerson(app, common());
        const skipped: Exported["skipped"] = [];
        let files = 0;
        for (let cursor: string | undefined; ; ) {
          const some = await exportOkf.perform(app, { under, ...(cursor === undefined ? {} : { cursor }) }, caller);
          if (!some.ok) return print(common(), some, () => "");
          for (const { path, content } of some.value.files) {
            await mkdir(dirname(join(folder, path)), { recursive: true });
            await writeFile(join(folder, path), content, { flag: "wx" });
          }
          files += some.value.files.length;
          skipped.push(...some.value.skipped);
          cursor = some.value.cursor;
          if (cursor === undefined) break;
        }
        print(common(), ok({ folder, files, skipped }), (done) =>
          [`wrote ${plural(done.files, "file")} to ${done.folder}`, ...done.skipped.map(left)].join("\n"),
        );
      }),
    );

type Exported = OutputOf<typeof exportOkf>;
type Imported = OutputOf<typeof importOkf>;

const left = ({ path, why }: Exported["skipped"][number]) => `skipped ${path}: ${why}`;

export const importCommand = (common: () => Common) =>
  new Command("import")
    .description(`${importOkf.summary} Shows a preview; --confirm applies it.`)
    .requiredOption("--okf <folder>", "folder of the bundle")
    .option("--into <folder>", "folder of the workspace (default: the paths of the bundle)")
    .option("--verify", "verify every passage of new pages: you vouch for them")
    .option("--confirm", "apply the change")
    .action(async ({ okf, into, verify, confirm }) => {
      const folder = resolve(shell().cwd, okf);
      const files = await markdownIn(folder);
      if (!files.ok) return print(common(), files, () => "");
      const input = { files: files.value, from: basename(folder), into, verify, confirm };
      await report(common(), importOkf, input, imported, importing(input));
    });

const importing = (input: object): Confirmation => ({
  word: "import",
  async preview(app, person) {
    const change = await importOkf.perform(app, { ...input, confirm: false }, person);
    return change.ok ? ok({ text: imported(inertly(change.value)) }) : change;
  },
});

function imported(done: Imported): string {
  const { created, proposed, unchanged, verified, skipped } = done;
  const would = done.imported ? "" : "would be ";
  return [
    ...created.map((path) => `${path}: ${would}created`),
    ...proposed.map(({ path, proposal_id }) =>
      proposal_id === null ? `${path}: ${would}proposed` : `${path}: proposal ${proposal_id}`,
    ),
    ...skipped.map(left),
    `${plural(unchanged.length, "page")} unchanged${verified > 0 ? `, ${plural(verified, "passage")} verified` : ""}`,
    ...(done.imported ? [] : ["", "Preview only; apply it with --confirm."]),
  ].join("\n");
}

/** The markdown files below a folder. Links are refused: they could lead out of it. */
async function markdownIn(folder: string): Promise<Result<{ path: string; content: string }[]>> {
  const found: { path: string; content: string }[] = [];
  async function walk(under: string, depth: number): Promise<string | undefined> {
    if (depth > deepest) return `${under} is nested more than ${deepest} folders deep`;
    for (const name of (await readdir(join(folder, under))).sort()) {
      const path = under === "" ? name : `${under}/${name}`;
      const stat = await lstat(join(folder, path));
      if (stat.isSymbolicLink()) return `${path} is a symbolic link; a bundle has regular files only`;
      if (stat.isDirectory()) {
        const problem = name === ".git" ? undefined : await walk(path, depth + 1);
        if (problem !== undefined) return problem;
      } else if (stat.isFile() && name.endsWith(".md")) {
        if (stat.size > mostBytes) return `${path} has ${stat.size} bytes; the maximum is ${mostBytes}`;
        if (found.length === mostFiles) return `there are more than ${mostFiles} files`;
        found.push({ path, content: await readFile(join(folder, path), "utf8") });
      }
    }
    return undefined;
  }
  const isFolder = (await lstat(folder).catch(() => undefined))?.isDirectory() ?? false;
  if (!isFolder) return refuse("not_found", `${folder} is not a folder`);
  const problem = await walk("", 0);
  return problem === undefined ? ok(found) : refuse("invalid", problem);
}

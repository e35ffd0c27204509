import { readdir, readFile, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import type { CrewApp } from "../../crew/record/crew-app.ts";
import { isTemporary, sweepTemporary } from "../../store/disk/disk.ts";
import { linksToNowhere } from "../../store/queries/links.ts";
import { keepsLog } from "../../wiki/log.ts";
import { isRevert } from "../../wiki/revert.ts";
import type { Schema } from "../../wiki/schema.ts";
import { parseDocument, readFront } from "../../wiki/stores/document.ts";
import { type Finding, findingsOf } from "../finding.ts";

export async function checkSources(app: CrewApp): Promise<Finding[]> {
  const { ok, warning, problem } = findingsOf("wiki", "sources");
  const report = await app.sources.verify();
  const folder = app.config.sources;
  const restore = (path: string) => `git checkout refs/scriptorium/history -- ${folder}/${path}`;
  const found = [
    ...report.changed.map(({ path }) => problem(`${path} was changed after it was added`, restore(path))),
    ...report.missing.map(({ path }) => problem(`${path} was deleted`, restore(path))),
    ...report.unknown.map((path) =>
      warning(
        `${path} is in ${folder}/ but was never added`,
        `scriptorium source add ${folder}/${path} --name ${path}`,
      ),
    ),
  ];
  return found.length > 0 ? found : [ok(`${report.intact} of ${report.intact} unchanged`)];
}

export async function checkFiles(app: CrewApp, schema: Schema): Promise<Finding[]> {
  const { files, config } = app;
  if (!files) return [];
  const { ok, warning } = findingsOf("wiki", "files");
  const folder = join(config.root, config.wiki);
  const swept = await sweepTemporary(folder, 60_000);
  const found: Finding[] = swept > 0 ? [ok(`deleted ${swept} temporary files that a crash had left`)] : [];

  for (const { id } of schema.sections) {
    const bytes = await readFile(files.fileOf(id)).catch(() => undefined);
    const complaint = bytes && readFront(parseDocument(bytes), `${config.wiki}/${id}.md`).complaint;
    if (complaint) found.push(warning(complaint, "correct the frontmatter; until then it is kept but ignored"));
    if (!bytes) found.push(warning(`${config.wiki}/${id}.md is missing`, "the next commit to this entry creates it"));
  }
  const known = new Set(schema.sections.map((section) => `${section.id}.md`));
  const names = await readdir(folder, { recursive: true });
  for (const name of names.map((n) => n.split(sep).join("/"))) {
    if (!name.endsWith(".md") || known.has(name) || isTemporary(name)) continue;
    if (!(await stat(join(folder, name))).isFile()) continue;
    const fix = `add a section ${name.slice(0, -3)} to ${config.wiki}/schema.yaml`;
    found.push(warning(`${config.wiki}/${name} belongs to no section`, fix));
  }
  return found.some((f) => f.state !== "ok") ? found : [...found, ok("every entry is readable")];
}

const mostShown = 20;

/** Links in the index must equal those in the texts; links to missing targets are warnings. */
export async function checkLinks(app: CrewApp): Promise<Finding[]> {
  const { ok, warning } = findingsOf("wiki", "links");
  const mended = await app.links.mend();
  const broken = await linksToNowhere(app.db, undefined, mostShown + 1);
  const found = [
    ...mended.map((id) => warning(`the links of ${id} were missing from the index and have been indexed`)),
    ...broken.slice(0, mostShown).map(({ from, to }) => {
      const id = from.slice("entry:".length);
      return warning(`${id} links to ${to}, which does not exist`, `write ${to}, or change the link in ${id}`);
    }),
    ...(broken.length > mostShown ? [warning(`more than ${mostShown} links have no target`)] : []),
  ];
  return found.length > 0 ? found : [ok("every link has a target")];
}

/** Finds logs that were rewritten: only a person's edit can do that, so only those versions are compared. */
export async function checkLogs(app: CrewApp, schema: Schema): Promise<Finding[]> {
  const { ok, problem } = findingsOf("wiki", "logs");
  const found: Finding[] = [];
  for (const { id } of schema.sections.filter((section) => section.mode === "log")) {
    const versions = await app.entries.history(id, 100_000);
    const byHand = versions.filter((v) => v.role === null && v.version > 1 && !isRevert(v.summary));
    for (const { version, author, at } of byHand) {
      const [before, after] = await Promise.all([
        app.entries.contentAt(id, version - 1),
        app.entries.contentAt(id, version),
      ]);
      if (before === undefined || after === undefined || keepsLog(before, after)) continue;
      const message = `${id} is a log, and ${author} rewrote earlier lines in version ${version} (${at})`;
      found.push(problem(message, `scriptorium entry read ${id} --version ${version - 1}`));
    }
  }
  return found.length > 0 ? found : [ok("no log was rewritten")];
}

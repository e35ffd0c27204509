import type { CrewApp } from "../../crew/record/crew-app.ts";
import { historyRef, historyRefOf } from "../../store/git/history-ref.ts";
import { linksToNowhere } from "../../store/queries/links.ts";
import { type Finding, findingsOf } from "../finding.ts";

export async function checkSources(app: CrewApp): Promise<Finding[]> {
  const { ok, warning, problem } = findingsOf("wiki", "sources");
  const report = await app.sources.verify();
  const folder = app.config.sources;
  const history = await historyRefOf(app.git).catch(() => historyRef);
  const restore = (path: string) => `git checkout ${history} -- ${folder}/${path}`;
  const about = (kind: string, path: string) => ({ kind, subject: `source:${path}` });
  const found = [
    ...report.changed.map(({ path }) =>
      problem(`${path} was changed after it was added`, restore(path), about("source-changed", path)),
    ),
    ...report.missing.map(({ path }) => problem(`${path} was deleted`, restore(path), about("source-deleted", path))),
    ...report.unknown.map((path) =>
      warning(
        `${path} is in ${folder}/ but was never added`,
        `scriptorium source add ${folder}/${path} --name ${path}`,
        about("source-unknown", path),
      ),
    ),
  ];
  return found.length > 0 ? found : [ok(`${report.intact} of ${report.intact} unchanged`)];
}

const mostShown = 20;

/** Links to missing targets are warnings; `compareIndex` compares the index of links with the texts. */
export async function checkLinks(app: CrewApp): Promise<Finding[]> {
  const { ok, warning } = findingsOf("wiki", "links");
  const broken = await linksToNowhere(app.db, undefined, mostShown + 1);
  const found = [
    ...broken.slice(0, mostShown).map(({ from, to }) => {
      const id = from.slice("entry:".length);
      const fix = `write ${to}, or change the link in ${id}`;
      return warning(`${id} links to ${to}, which does not exist`, fix, { kind: "link-broken", subject: from });
    }),
    ...(broken.length > mostShown ? [warning(`more than ${mostShown} links have no target`)] : []),
  ];
  return found.length > 0 ? found : [ok("every link has a target")];
}

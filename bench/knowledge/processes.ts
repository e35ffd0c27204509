import { readFileSync } from "node:fs";
import { join } from "node:path";
import { unwrap } from "../../src/kernel/result.ts";
import { ended, type Place } from "../support/place.ts";
import { holds, type Row, type Table } from "../support/table.ts";
import { numbered } from "../support/text.ts";
import { newWorkspace, outOfOrder, recordedIn, type Workspace } from "../support/workspace.ts";
import { startChild, type Worked } from "./child.ts";

const processes = 8;
const appends = 200;
const commits = 50;
const names = Array.from({ length: processes }, (_, n) => `p${n}`);

/** Many processes on one workspace at the same time: what each was told must be there in the end. */
export async function manyProcesses(place: Place): Promise<Table[]> {
  const ids = numbered(commits, 10);
  const body = `# Start\n\n${names.map((name) => `## ${name}\n`).join("")}## all\n`;
  const workspace = await newWorkspace(place, { entries: new Map(ids.map((id) => [id, body])), logs: ["journal"] });
  await (await workspace.open()).close();

  const appended = await atOnce(place, "append", { root: workspace.root, ids: ["journal"], count: appends });
  const committed = await atOnce(place, "commit", { root: workspace.root, ids, count: commits });
  const rows = [
    workRow(`${processes} processes × ${appends} appends to one log`, appended, appends),
    keptRow("its lines", appended.worked, [read(workspace, "journal")], 1),
    workRow(`${processes} processes × ${commits} commits to ${ids.length} entries`, committed, commits),
    keptRow(
      "their marks",
      committed.worked,
      ids.map((id) => read(workspace, id)),
      2,
    ),
    ...(await historyRows(place, workspace, [...appended.worked, ...committed.worked])),
  ];
  return [{ question: "Many processes on one workspace", rows }];
}

type Done = { worked: Worked[]; ms: number };

async function atOnce(place: Place, job: "append" | "commit", options: object): Promise<Done> {
  const children = names.map((name) => startChild(place, job, { ...options, name }));
  await Promise.all(children.map((child) => child.ready));
  const began = performance.timeOrigin + performance.now();
  for (const child of children) child.go();
  const worked = await Promise.all(children.map((child) => child.result<Worked>()));
  const last = Math.max(...worked.flatMap((w) => w.acknowledged.map(({ at }) => at)));
  return { worked, ms: last - began };
}

function workRow(what: string, { worked, ms }: Done, each: number): Row {
  const finishes = worked.map((w) => w.acknowledged.at(-1)?.at ?? 0);
  const first = Math.min(...finishes);
  const shares = worked.map((w) => w.acknowledged.filter(({ at }) => at <= first).length);
  const gaps = worked.flatMap(({ acknowledged }) =>
    acknowledged.slice(1).map(({ at }, index) => at - (acknowledged[index]?.at ?? at)),
  );
  const sum = (pick: (w: Worked) => number) => worked.reduce((total, w) => total + pick(w), 0);
  const conflicts = sum((w) => w.conflicts);
  return {
    what,
    figures: {
      "took ms": ms,
      "writes/s": (processes * each * 1000) / ms,
      "slowest when the first was done": `${Math.min(...shares)} of ${each}`,
      "longest wait ms": Math.max(...gaps),
      ...(conflicts > 0 ? { "conflicts (merged)": `${conflicts} (${sum((w) => w.merged)})` } : {}),
    },
  };
}

/** Each acknowledged mark stands in the texts exactly once, and each version was given to exactly one write. */
function keptRow(what: string, worked: Worked[], texts: string[], firstVersion: number): Row {
  const acknowledged = worked.flatMap((w) => w.acknowledged);
  const lines = texts.flatMap((text) => text.split("\n"));
  const counts = acknowledged.map(
    ({ mark }) => lines.filter((line) => line === mark || line.endsWith(` ${mark}`)).length,
  );
  const lost = counts.filter((count) => count === 0).length;
  const doubled = counts.filter((count) => count > 1).length;
  const byEntry = new Map<string, number[]>();
  for (const { entry, version } of acknowledged) byEntry.set(entry, [...(byEntry.get(entry) ?? []), version]);
  const wrong = [...byEntry.values()].filter((versions) =>
    versions.sort((a, b) => a - b).some((version, index) => version !== firstVersion + index),
  ).length;
  return {
    what: `  ${what}, line by line`,
    figures: {},
    target: holds(
      `nothing lost or doubled: ${acknowledged.length} acknowledged, ${lost} lost, ${doubled} doubled, ${wrong} entries with wrong versions`,
      lost + doubled + wrong === 0,
    ),
  };
}

async function historyRows(place: Place, workspace: Workspace, worked: Worked[]): Promise<Row[]> {
  const app = await workspace.open();
  await app.recorder.drain(10_000);
  const journal = unwrap(await app.knowledge({ kind: "person", name: "Ada", rank: "admin" }).fetchEntry("journal"));
  await app.close();
  const recorded = await recordedIn(workspace);
  const ofLog = recorded.filter(({ entry }) => entry === "journal");
  const ofEntries = recorded.filter(({ entry }) => entry !== "journal");
  const wrong = outOfOrder(ofLog, 0) + outOfOrder(ofEntries, 1);
  const expected = worked.reduce((total, w) => total + w.acknowledged.length, 0);
  const fsck = await ended(
    place.start("git", ["-C", workspace.root, "fsck", "--strict", "--no-dangling", "--no-progress"]),
  );
  const said = `${fsck.stdout}${fsck.stderr}`.trim();
  return [
    {
      what: "versions in git, each one more than the last",
      figures: {},
      target: holds(
        `all in order: ${recorded.length} of ${expected}, ${wrong} out of order, log at version ${journal.version}`,
        recorded.length === expected && wrong === 0 && journal.version === processes * appends,
      ),
    },
    {
      what: "git fsck --strict",
      figures: {},
      target: holds(`clean: ${said === "" ? "says nothing" : said.split("\n")[0]}`, fsck.code === 0 && said === ""),
    },
  ];
}

const read = ({ root }: Workspace, id: string) => readFileSync(join(root, "wiki", `${id}.md`), "utf8");

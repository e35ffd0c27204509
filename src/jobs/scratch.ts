import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { SandboxPolicy } from "../agents/sandbox.ts";
import type { Job } from "./job.ts";
import type { JobsApp } from "./jobs-app.ts";
import { skillNames } from "./prompt.ts";

const mostPages = 200;
const mostBytes = 4 * 1024 * 1024;

/** Files that agents treat as instructions. */
const instructions = /^(claude(\.local)?|agents?|gemini|qwen|copilot-instructions|skill|memory)\.(md|markdown)$/i;

/** The folder that the agent of one job works in, and files beside it. */
export type JobFolder = Pick<SandboxPolicy, "write" | "hide"> & {
  root: string;
  page: string;
  skill: string;
  /** A folder for files of this job only, which may be `root`. */
  beside: string;
  remove(): Promise<void>;
};

const temporary = async () => realpath(await mkdtemp(join(tmpdir(), "scriptorium-job-")));
const removing = (folder: string) => () => rm(folder, { recursive: true, force: true });
const skillFile = (skills: string, job: Job) => join(skills, "skills", skillNames[job.kind], "SKILL.md");

/** The workspace itself, read-only; databases, tokens, worktrees and logs of other jobs are hidden (V1). */
export async function inWorkspace({ config }: JobsApp, job: Job, skills: string): Promise<JobFolder> {
  const { root, stateFolder, agent } = config;
  const beside = await temporary();
  const isWithin = (path: string, folder: string) => path.startsWith(`${folder}/`);
  const logDir = agent?.logDir;
  const logs = logDir && isWithin(logDir, root) && !isWithin(logDir, stateFolder) ? [logDir] : [];
  return {
    root,
    page: join(root, job.source_path),
    skill: skillFile(skills, job),
    write: false,
    hide: [stateFolder, ...logs],
    beside,
    remove: removing(beside),
  };
}

/**
 * A folder for one job, outside the workspace and its repository: copies of the page, of the other pages for
 * reference, and of the skill. Hooks, servers and settings of the workspace are not in it, so none can be started.
 */
export async function makeScratch(app: JobsApp, job: Job, text: string, skills: string): Promise<JobFolder> {
  const root = await temporary();
  const copy = async (path: string, content: string) => {
    const file = join(root, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    return file;
  };
  const page = await copy(isInstruction(job.source_path) ? "page.md" : job.source_path, text);
  let bytes = 0;
  for (const path of (await app.pages.list()).filter((path) => path !== job.source_path).slice(0, mostPages)) {
    if (isInstruction(path)) continue;
    const other = await app.pages.read(path);
    if (!other.ok) continue;
    bytes += Buffer.byteLength(other.value.text);
    if (bytes > mostBytes) break;
    await copy(path, other.value.text);
  }
  const skill = join(root, "job-skill.md");
  await cp(skillFile(skills, job), skill);
  return { root, page, skill, write: true, beside: root, remove: removing(root) };
}

const isInstruction = (path: string) => instructions.test(basename(path));

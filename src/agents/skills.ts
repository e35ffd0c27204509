import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFile } from "../kernel/package-files.ts";

/** The bundled plugin folder with the skills of jobs, without the hooks and the server of the plugin around it. */
export const skillsFolder = () => fileURLToPath(packageFile("plugin/jobs/"));

/** The skills of the plugin as files of a workspace. */
export async function skillFiles(): Promise<{ path: string; text: string }[]> {
  const folders = ["plugin/skills/", "plugin/jobs/skills/"].map((path) => fileURLToPath(packageFile(path)));
  const files = folders.map(async (from) =>
    (await readdir(from)).map(async (name) => ({
      path: `.claude/skills/${name}/SKILL.md`,
      text: await readFile(join(from, name, "SKILL.md"), "utf8"),
    })),
  );
  return Promise.all((await Promise.all(files)).flat());
}

/** Copies the skills to where an agent in the workspace looks for them (R8), overwriting older copies. Returns the paths written. */
export async function installSkills(root: string): Promise<string[]> {
  const written: string[] = [];
  for (const { path, text } of await skillFiles()) {
    const there = await readFile(join(root, path), "utf8").catch(() => undefined);
    if (there === text) continue;
    await mkdir(join(root, dirname(path)), { recursive: true });
    await writeFile(join(root, path), text);
    written.push(path);
  }
  return written;
}

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFile } from "../kernel/package-files.ts";

/** The bundled plugin folder with the skills of jobs, without the hooks and the server of the plugin around it. */
export const skillsFolder = () => fileURLToPath(packageFile("plugin/jobs/"));

/** Copies the skills of the plugin to where an agent in the workspace looks for them (R8), overwriting older copies. Returns the paths written. */
export async function installSkills(root: string): Promise<string[]> {
  const written: string[] = [];
  for (const from of ["plugin/skills/", "plugin/jobs/skills/"].map((path) => fileURLToPath(packageFile(path))))
    for (const name of await readdir(from)) {
      const path = `.claude/skills/${name}/SKILL.md`;
      const text = await readFile(join(from, name, "SKILL.md"), "utf8");
      const there = await readFile(join(root, path), "utf8").catch(() => undefined);
      if (there === text) continue;
      await mkdir(join(root, `.claude/skills/${name}`), { recursive: true });
      await writeFile(join(root, path), text);
      written.push(path);
    }
  return written;
}

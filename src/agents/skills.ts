import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFile } from "../kernel/package-files.ts";

/** The bundled plugin folder with the skills of jobs, without the hooks and the server of the plugin around it. */
export const skillsFolder = () => fileURLToPath(packageFile("plugin/jobs/"));

/** The skills as files of a workspace. */
export async function skillFiles(): Promise<{ path: string; text: string }[]> {
  const from = join(skillsFolder(), "skills");
  const names = await readdir(from);
  return Promise.all(
    names.map(async (name) => ({
      path: `.claude/skills/${name}/SKILL.md`,
      text: await readFile(join(from, name, "SKILL.md"), "utf8"),
    })),
  );
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

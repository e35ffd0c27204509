import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFile } from "../kernel/package-files.ts";

/** The bundled plugin folder with the skills of jobs, without the hooks and the server of the plugin around it. */
export const skillsFolder = () => fileURLToPath(packageFile("plugin/jobs/"));

/** The skills of the plugin as files of a workspace, where an agent looks for them (R8). */
export async function skillFiles(): Promise<{ path: string; text: string }[]> {
  const folders = ["plugin/skills/", "plugin/jobs/skills/"].map((path) => fileURLToPath(packageFile(path)));
  const files = await Promise.all(
    folders.map(async (from) =>
      (await readdir(from)).map(async (name) => ({
        path: `.claude/skills/${name}/SKILL.md`,
        text: await readFile(join(from, name, "SKILL.md"), "utf8"),
      })),
    ),
  );
  return Promise.all(files.flat());
}

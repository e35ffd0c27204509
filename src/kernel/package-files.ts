import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The nearest folder above this file with a package.json: bundles run from dist/, sources from src/kernel/. */
function packageRoot(): URL {
  for (let folder = new URL("./", import.meta.url); ; folder = new URL("../", folder)) {
    if (existsSync(new URL("package.json", folder))) return folder;
    if (folder.pathname === "/") throw new Error(`no package.json above ${fileURLToPath(import.meta.url)}`);
  }
}

let root: URL | undefined;

/** The path of a bundled file or folder, such as `templates/`. */
export function packageFile(path: string): URL {
  root ??= packageRoot();
  return new URL(path, root);
}

/** The script of a worker thread or child process. It exists only in the build. */
export function builtFile(name: string): URL {
  const file = packageFile(`dist/${name}`);
  if (!existsSync(file)) throw new Error(`dist/${name} is missing; run: npm run build`);
  return file;
}

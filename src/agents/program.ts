import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";

/** Finds an executable on `path`, or, if the name has a slash, relative to `base`. */
export function findProgram(name: string, path: string, base: string): string | undefined {
  if (name.includes("/")) {
    const file = isAbsolute(name) ? name : resolve(base, name);
    return isProgram(file) ? file : undefined;
  }
  const places = path.split(delimiter).flatMap((folder) => (folder ? [join(folder, name)] : []));
  return places.find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

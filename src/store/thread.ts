import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The code of a thread. The build puts it beside every other file that is started; run from source, it is in dist. */
export function threadFile(name: string): URL {
  const places = ["./", "../dist/", "../../dist/"].map((folder) => new URL(`${folder}${name}.js`, import.meta.url));
  const found = places.find((url) => existsSync(fileURLToPath(url)));
  if (!found) throw new Error(`the build has no ${name}.js; run: npm run build`);
  return found;
}

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Writes files below a folder. */
export function writeFiles(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/** A tarball-free dependency: a folder of the repository that npm packs and installs as a copy. */
const vendored = (name: string, version: string) => ({
  [`vendor/${name}/package.json`]: JSON.stringify({ name, version, main: "index.js" }),
  [`vendor/${name}/index.js`]: `exports.version = ${JSON.stringify(version)};\n`,
});

/**
 * A repository whose tests need its dependencies, and whose dependencies need no registry: `npm test` fails until
 * `npm ci` has run.
 */
export const npmProject = (version = "1.0.0", scripts: Record<string, string> = {}) => ({
  ".gitignore": ".scriptorium/\nnode_modules/\n",
  "package.json": `${JSON.stringify({ name: "project", private: true, scripts: { test: "node test.js", ...scripts }, dependencies: { greeting: "file:vendor/greeting" } }, null, 2)}\n`,
  "package-lock.json": `${JSON.stringify(
    {
      name: "project",
      lockfileVersion: 3,
      requires: true,
      packages: {
        "": { name: "project", dependencies: { greeting: "file:vendor/greeting" } },
        "node_modules/greeting": { resolved: "vendor/greeting", link: true },
        "vendor/greeting": { name: "greeting", version },
      },
    },
    null,
    2,
  )}\n`,
  ...vendored("greeting", version),
  "test.js": `const { version } = require("greeting");\nconsole.log("greeting " + version);\n`,
});

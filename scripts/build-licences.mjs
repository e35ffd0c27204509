// Writes the licences of the packages whose code is in dist/: a bundle redistributes them.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

// Relative to the repository: node_modules may be a link to a folder elsewhere.
const insidePackage = /(?:^|[\\/])(node_modules[\\/](?:.*[\\/]node_modules[\\/])?(?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/;

/**
 * The root folders of the packages that these modules belong to. Modules of our own are ignored.
 * @param {Iterable<string>} modules
 */
export function packagesOf(modules) {
  /** @type {Set<string>} */
  const folders = new Set();
  for (const path of modules) {
    const [, folder] = insidePackage.exec(path) ?? [];
    if (folder) folders.add(folder);
  }
  return [...folders].sort();
}

/** @param {string[]} folders */
export async function licencesOf(folders) {
  /** Packages by licence text, so that a text shared by many stands there once. @type {Map<string, string[]>} */
  const byText = new Map();
  for (const folder of new Set(folders)) {
    const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = await licenceText(folder);
    if (!license && !file) throw new Error(`the bundled package ${name}@${version} states no licence`);
    const text = file || `(The package states ${license} and has no licence file.)`;
    byText.set(text, [...(byText.get(text) ?? []), `${name}@${version} (${license ?? "see below"})`]);
  }
  const blocks = [...byText].map(([text, names]) => `${[...new Set(names)].sort().join("\n")}\n\n${text}`).sort();
  const intro = "The files in this folder contain code of the following packages.";
  return `${[intro, ...blocks].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

/** @param {string} folder */
async function licenceText(folder) {
  const names = (await readdir(folder)).filter((name) => /^(licen[cs]e|copying|notice)([.-].*)?$/i.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts
    .map((text) => text.replaceAll("\r", "").trim())
    .filter(Boolean)
    .join("\n\n");
}

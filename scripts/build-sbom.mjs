// Lists the packages whose code is in dist/ as a software bill of materials (CycloneDX 1.6, JSON). `npm sbom` would
// list everything in the lock file instead: all packages are development dependencies, because the build bundles them.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export const sbomFile = "sbom.cdx.json";

/** Licences that allow redistribution in a bundle. A package with another one fails the build. */
const allowed = new Set(
  "0BSD Apache-2.0 BlueOak-1.0.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT MIT-0 Python-2.0 Unlicense Zlib".split(" "),
);

/**
 * Whether an SPDX expression permits one of the allowed licences.
 * @param {string} expression
 * @returns {boolean}
 */
export function isAllowed(expression) {
  const tokens = expression.replaceAll(/[()]/g, " $& ").split(/\s+/).filter(Boolean);
  let at = 0;
  /** @param {"OR" | "AND"} word @param {() => boolean} operand */
  const joined = (word, operand) => {
    let value = operand();
    while (tokens[at] === word) {
      at++;
      const next = operand();
      value = word === "OR" ? value || next : value && next;
    }
    return value;
  };
  const any = () => joined("OR", all);
  const all = () => joined("AND", one);
  /** @returns {boolean} */
  function one() {
    const token = tokens[at++];
    if (token !== "(") return allowed.has(token ?? "");
    const inside = any();
    return tokens[at++] === ")" && inside;
  }
  return any() && at === tokens.length;
}

/**
 * @param {string[]} folders of packages, relative to the folder with package-lock.json
 * @param {string} [root]
 */
export async function sbomOf(folders, root = ".") {
  const { packages } = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
  const own = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const components = [];
  for (const folder of [...new Set(folders)].sort()) {
    const { name, version, license } = JSON.parse(await readFile(join(root, folder, "package.json"), "utf8"));
    const { integrity } = packages[folder.replaceAll("\\", "/")] ?? {};
    if (!integrity) throw new Error(`${name}@${version} is bundled and not in package-lock.json`);
    if (typeof license !== "string" || !isAllowed(license)) {
      throw new Error(
        `${name}@${version} is bundled and has the licence ${license}; add it to scripts/build-sbom.mjs if it permits redistribution`,
      );
    }
    components.push(componentOf("library", { name, version, license }, integrity));
  }
  const unique = [...new Map(components.map((component) => [component["bom-ref"], component])).values()];
  const product = componentOf("application", own);
  // Without a date and a serial number: the same sources give the same file.
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: product },
    components: unique,
    dependencies: [{ ref: product["bom-ref"], dependsOn: unique.map((component) => component["bom-ref"]) }],
  };
}

/**
 * @param {"application" | "library"} type
 * @param {{ name: string, version: string, license: string }} about
 * @param {string} [integrity]
 */
function componentOf(type, { name, version, license }, integrity) {
  const [group, short] = name.startsWith("@") ? name.split("/") : [undefined, name];
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const [algorithm = "", hash = ""] = integrity?.split("-") ?? [];
  return {
    type,
    "bom-ref": purl,
    ...(group ? { group } : {}),
    name: short,
    version,
    licenses: [/\s/.test(license) ? { expression: license } : { license: { id: license } }],
    purl,
    ...(integrity
      ? {
          hashes: [{ alg: algorithm.replace("sha", "SHA-"), content: Buffer.from(hash, "base64").toString("hex") }],
        }
      : {}),
  };
}

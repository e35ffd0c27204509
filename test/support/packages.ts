import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { writeFiles } from "./files.ts";
import { type Package, startRegistry } from "./registry.ts";
import { type engines, newWorkspace, temporaryFolder, testEnvironment } from "./workspace.ts";

/** A package whose export is its version. */
export const greeting = (version: string, manifest: Record<string, unknown> = {}, name = "greeting"): Package => ({
  name,
  version,
  manifest,
  files: { "index.js": `exports.version = ${JSON.stringify(version)};\n` },
});

const ignored = ".scriptorium/\nnode_modules/\n";

type Options = {
  engine?: (typeof engines)[number];
  packages?: Package[];
  dependencies?: Record<string, string>;
  manifest?: Record<string, unknown>;
  files?: Record<string, string>;
  /** More of scriptorium.yaml. */
  config?: string;
  /** The manager that makes the lockfile; npm if left out. */
  lock?: { file: string; command: string[]; path: string; files?: Record<string, string> };
  /** A registry that asks for a login, and the files of the home that have it. */
  login?: Login;
  home?: string;
  /** Further variables of the person. */
  variables?: Record<string, string>;
};

export type Login = { header: string; files: (registry: { url: string; host: string }) => Record<string, string> };

const token = "SECRET-OF-THE-REGISTRY";

/**
 * A workspace whose `npm test` needs a package of a registry on loopback, and a home that configures that registry with
 * a token. Its test prints the version of the package.
 */
export async function projectWithRegistry({
  packages = [greeting("1.0.0"), greeting("2.0.0")],
  dependencies = { greeting: "1.0.0" },
  manifest = {},
  files = {},
  config,
  engine = "sqlite",
  login,
  home = temporaryFolder(),
  variables = {},
  lock = { file: "package-lock.json", command: npmLock, path: "" },
}: Options = {}) {
  const registry = await startRegistry(packages, login?.header);
  const server = registry.url.replace(/\/$/, "");
  writeFiles(home, {
    ".yarnrc.yml": `npmRegistryServer: "${server}"\nunsafeHttpWhitelist: [127.0.0.1]\n`,
    ".npmrc": `registry=${registry.url}\n//${registry.host}/:_authToken=${token}\n`,
    ...login?.files(registry),
  });
  const env = {
    ...testEnvironment(),
    ...variables,
    HOME: home,
    PATH: [lock.path, testEnvironment().PATH].filter(Boolean).join(":"),
  };
  const yarnEnv = { YARN_REGISTRY: registry.url, YARN_NPM_REGISTRY_SERVER: server };
  const berryEnv = { YARN_UNSAFE_HTTP_WHITELIST: "127.0.0.1", YARN_ENABLE_IMMUTABLE_INSTALLS: "false" };
  const manifestText = (named: Record<string, string>) =>
    `${JSON.stringify({ name: "project", private: true, scripts: { test: "node test.js" }, dependencies: named, ...manifest }, null, 2)}\n`;

  /** The manifest and the lockfile of a project with these dependencies. */
  const locked = async (named: Record<string, string>): Promise<Record<string, string>> => {
    const folder = temporaryFolder();
    writeFiles(folder, { ...lock.files, ...files, "package.json": manifestText(named) });
    const [program = "", ...args] = lock.command;
    await promisify(execFile)(program, args, {
      cwd: folder,
      env: { ...env, ...yarnEnv, ...berryEnv },
      timeout: 60_000,
    });
    return {
      "package.json": readFileSync(join(folder, "package.json"), "utf8"),
      [lock.file]: readFileSync(join(folder, lock.file), "utf8"),
    };
  };
  const made = await newWorkspace({
    engine,
    ...(config ? { config } : {}),
    files: {
      ".gitignore": ignored,
      "test.js": `console.log("greeting " + require(${JSON.stringify(Object.keys(dependencies)[0])}).version);\n`,
      ...lock.files,
      ...files,
      ...(await locked(dependencies)),
    },
  });
  return {
    ...made,
    app: await made.open({ HOME: home, PATH: env.PATH, ...variables }),
    registry,
    home,
    locked,
    token,
    env,
  };
}

export const npmLock = ["npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"];

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { writeFiles } from "./files.ts";

type Published = { version: string; manifest: Record<string, unknown>; tarball: Buffer };

/** A package: its manifest beside name and version, and its files. */
export type Package = {
  name: string;
  version: string;
  manifest?: Record<string, unknown>;
  files: Record<string, string>;
};

/**
 * A registry of packages on loopback, as npm, pnpm and yarn read one. Requests are listed with their authorization.
 * `authorization`: the header without which it answers nothing.
 */
export async function startRegistry(packages: Package[], authorization?: string) {
  const published = new Map<string, Published[]>();
  for (const one of packages) published.set(one.name, [...(published.get(one.name) ?? []), publish(one)]);
  const requests: { url: string; authorization: string | undefined }[] = [];
  let isHolding = false;
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (isHolding) return void held.push(response);
    const url = decodeURIComponent(request.url ?? "");
    requests.push({ url, authorization: request.headers.authorization });
    if (authorization !== undefined && request.headers.authorization !== authorization)
      return void response.writeHead(401, { "www-authenticate": "Bearer" }).end('{"error":"unauthorized"}');
    const [, name = "", file] = /^\/((?:@[^/]+\/)?[^/?]+)(?:\/-\/([^/?]+))?/.exec(url) ?? [];
    const versions = published.get(name);
    if (!versions) return void response.writeHead(404).end("{}");
    const wanted = versions.find(({ version }) => file === `${baseName(name)}-${version}.tgz`);
    if (wanted) return void response.end(wanted.tarball);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(packument(name, versions, `http://${request.headers.host}`)));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    host: `127.0.0.1:${port}`,
    requests,
    /** Answers nothing until `release`. */
    hold: () => {
      isHolding = true;
    },
    release: () => {
      isHolding = false;
      for (const response of held.splice(0)) response.destroy();
    },
  };
}

function publish({ name, version, manifest = {}, files }: Package): Published {
  const folder = mkdtempSync(join(tmpdir(), "scriptorium-package-"));
  const whole = { name, version, main: "index.js", ...manifest };
  mkdirSync(join(folder, "package"));
  writeFiles(join(folder, "package"), { "package.json": JSON.stringify(whole), ...files });
  execFileSync("tar", ["-czf", "package.tgz", "package"], { cwd: folder });
  const tarball = readFileSync(join(folder, "package.tgz"));
  rmSync(folder, { recursive: true });
  return { version, manifest: whole, tarball };
}

const packument = (name: string, versions: Published[], base: string) => ({
  name,
  "dist-tags": { latest: versions.at(-1)?.version },
  time: Object.fromEntries(versions.map(({ version }) => [version, "2020-01-01T00:00:00.000Z"])),
  versions: Object.fromEntries(
    versions.map(({ version, manifest, tarball }) => [
      version,
      {
        ...manifest,
        ...(hasScripts(manifest) ? { hasInstallScript: true } : {}),
        dist: {
          tarball: `${base}/${name}/-/${baseName(name)}-${version}.tgz`,
          shasum: createHash("sha1").update(tarball).digest("hex"),
          integrity: `sha512-${createHash("sha512").update(tarball).digest("base64")}`,
        },
      },
    ]),
  ),
});

const baseName = (name: string) => name.replace(/^@[^/]+\//, "");

const hasScripts = ({ scripts }: Record<string, unknown>) => scripts !== undefined;

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { Agent, request as tlsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Answer } from "./requests.ts";
import { temporaryFolder } from "./workspace.ts";

export const publicUrl = "https://wiki.example.org";

/** A self-signed certificate; each call makes another. */
export function certificateIn(folder: string, name: string): { certificate: string; key: string } {
  const [certificate, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  const subject = ["-subj", "/CN=wiki.example.org", "-addext", "subjectAltName=DNS:wiki.example.org"];
  const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  execFileSync("openssl", [...made, ...subject, "-keyout", key, "-out", certificate], { stdio: "ignore" });
  return { certificate, key };
}

type Streamed = { status: number; first: string; headers: Answer["headers"] };

/** A request as a browser sends it; the certificate is checked. */
export function overTls(
  port: number,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: object },
  ca: Buffer,
): Promise<Answer> {
  return new Promise((done, fail) => {
    const outgoing = tlsRequest(tlsOptions(port, path, options, ca), (response) => {
      let text = "";
      response.on("data", (chunk) => (text += chunk));
      response.on("end", () =>
        done({ status: response.statusCode ?? 0, headers: response.headers, text, json: () => JSON.parse(text) }),
      );
    });
    outgoing.on("error", fail);
    outgoing.end(options.body && JSON.stringify(options.body));
  });
}

export function firstPiece(port: number, path: string, headers: Record<string, string>, ca: Buffer): Promise<Streamed> {
  return new Promise((done, fail) => {
    const outgoing = tlsRequest(tlsOptions(port, path, { headers }, ca), (response) => {
      response.once("data", (chunk) => {
        done({ status: response.statusCode ?? 0, first: String(chunk), headers: response.headers });
        outgoing.destroy();
      });
    });
    outgoing.on("error", fail);
    outgoing.end();
  });
}

const tlsOptions = (
  port: number,
  path: string,
  { method = "GET", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: object },
  ca: Buffer,
) => ({
  ...{ host: "127.0.0.1", port, path, method, ca, servername: "wiki.example.org", agent: new Agent() },
  headers: {
    host: new URL(publicUrl).host,
    ...(body ? { "content-type": "application/json" } : {}),
    ...headers,
  },
});

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

/** The shipped configuration, with the addresses of the test; `edit` changes it further. */
export async function startNginx(upstream: string, servers: [string, string][], edit = (text: string) => text) {
  const folder = temporaryFolder();
  const { certificate, key } = certificateIn(folder, "proxy");
  const [port, plain] = [await freePort(), await freePort()];
  const shipped = [upstream, "nginx.conf"]
    .map((name) => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), "utf8"))
    .join("\n");
  const site = edit(shipped)
    .replace("listen 80;", `listen 127.0.0.1:${plain};`)
    .replace("listen 443 ssl;", `listen 127.0.0.1:${port} ssl;`)
    .replace(/ssl_certificate .*;/, `ssl_certificate ${certificate};`)
    .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${key};`)
    // The test's proxy has another port than 443.
    .replaceAll("$http_host", "wiki.example.org");
  const addressed = servers.reduce(
    (text, [shipped, own]) => text.replace(`server ${shipped};`, `server ${own};`),
    site,
  );
  for (const name of ["logs", "tmp"]) mkdirSync(join(folder, name));
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/tmp/${name};`)
    .join("\n");
  const config = `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/logs/error.log;
events {}
http { access_log off; ${paths}
${addressed} }`;
  writeFileSync(join(folder, "nginx.conf"), config);
  const child = spawn("/usr/sbin/nginx", ["-p", folder, "-c", join(folder, "nginx.conf")], { stdio: "pipe" });
  const ended = new Promise((done) => child.once("close", done));
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const ca = readFileSync(certificate);
  await expect
    .poll(() => overTls(port, "/healthz", {}, ca).then(({ status }) => status, String), { timeout: 10_000 })
    .toBe(200);
  return { port, plain, ca };
}

import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { knownVariables, userVariables } from "../src/config/variables.ts";
import { serve } from "./support/commands.ts";
import { freePort, overTls, publicUrl, startNginx } from "./support/nginx.ts";
import { skipNow } from "./support/programs.ts";
import { ask } from "./support/requests.ts";
import { gitIn, newWorkspace, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const folder = new URL("../deploy/", import.meta.url).pathname;
const read = (name: string) => readFileSync(join(folder, name), "utf8");

type Service = {
  image?: string;
  command?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  networks?: string[];
  depends_on?: string[] | Record<string, unknown>;
};
type Compose = {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  networks: Record<string, unknown>;
};

const compose = () => parse(read("compose/compose.yaml"), { merge: true }) as Compose;
const isVariable = (name: string) => Object.hasOwn(userVariables, name) || Object.hasOwn(knownVariables, name);

describe("M15: the deployment files", () => {
  test("M15: systemd accepts the units, and they start commands that exist with options that agents' sandbox can live with", () => {
    const units = readdirSync(join(folder, "systemd"));
    expect(units).toEqual(["scriptorium-serve.service", "scriptorium-work.service"]);
    for (const unit of units) {
      const text = read(`systemd/${unit}`);
      const settings = text.split("\n").filter((line) => line !== "" && !line.startsWith("#") && !line.startsWith("["));
      for (const line of settings) expect([unit, line]).toEqual([unit, expect.stringMatching(/^[A-Z]\w+=/)]);
      const command = /^ExecStart=\/usr\/bin\/env scriptorium (\w+)$/m.exec(text)?.[1] ?? "";
      expect(["serve", "work"]).toContain(command);
      // Each of these stops bubblewrap or the JavaScript engine.
      for (const name of ["RestrictNamespaces", "ProtectKernelTunables", "ProtectProc", "MemoryDenyWriteExecute"])
        expect([unit, settings.some((line) => line.startsWith(`${name}=`))]).toEqual([unit, false]);
      if (!existsSync("/usr/bin/systemd-analyze")) continue;
      execFileSync("/usr/bin/systemd-analyze", ["verify", join(folder, "systemd", unit)], { stdio: "pipe" });
    }
    if (!existsSync("/usr/bin/systemd-analyze")) skipNow("systemd-analyze is not installed; the rest of the test ran");
  });

  test("M15: the compose file is whole: services, networks, volumes, variables and no secret in it", () => {
    const { services, volumes, networks } = compose();
    expect(Object.keys(services)).toEqual(["database", "server-1", "server-2", "worker-1", "worker-2", "proxy"]);
    for (const [name, service] of Object.entries(services)) {
      const needed = Array.isArray(service.depends_on) ? service.depends_on : Object.keys(service.depends_on ?? {});
      for (const other of needed)
        expect([name, Object.keys(services)]).toEqual([name, expect.arrayContaining([other])]);
      for (const network of service.networks ?? []) expect(Object.keys(networks)).toContain(network);
      for (const volume of service.volumes ?? []) {
        const [from = "", to] = volume.split(":");
        expect(to).toMatch(/^\//);
        if (!from.startsWith(".")) expect(Object.keys(volumes)).toContain(from);
        else if (!from.includes("certificates")) expect(existsSync(join(folder, "compose", from))).toBe(true);
      }
      expect([name, service.image]).toEqual([name, expect.stringMatching(/^(scriptorium|[a-z]+:\d[\d.]*)$/)]);
      for (const [key, value] of Object.entries(service.environment ?? {})) {
        if (service.image === "scriptorium" && key !== "WORKSPACE_REPOSITORY")
          expect([key, isVariable(key)]).toEqual([key, true]);
        if (/PASSWORD|SECRET|KEY|URL$/.test(key)) expect([key, value]).toEqual([key, expect.stringContaining("${")]);
      }
    }
    // No two containers share a folder: locks in it name processes of one machine.
    const own = Object.values(services).flatMap(({ volumes: list = [] }) =>
      list.filter((one) => one.endsWith("/srv/workspace")),
    );
    expect(new Set(own).size).toBe(4);
    const named = [...read("compose/compose.yaml").matchAll(/\$\{(\w+)/g)].map(([, name]) => name);
    const offered = [...read("compose/.env.example").matchAll(/^(\w+)=/gm)].map(([, name]) => name);
    expect(offered.sort()).toEqual([...new Set(named)].sort());
  });

  test("M15: the Dockerfile has known instructions, copies files that exist and does not run as root", () => {
    const lines = read("Dockerfile")
      .replaceAll(/\\\n\s*/g, "")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
    const instructions = lines.map((line) => [line.split(" ", 1)[0] ?? "", line.slice(line.indexOf(" ") + 1)] as const);
    const known = ["FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"];
    for (const [name] of instructions) expect(known).toContain(name);
    for (const [name, rest] of instructions) {
      if (name === "FROM") expect(rest).toMatch(/^node:\d+-[a-z]+-slim( AS \w+)?$/);
      if (name !== "COPY" || rest.includes("--from")) continue;
      const paths = rest.split(" ").filter((word) => !word.startsWith("--"));
      for (const path of paths.slice(0, -1)) expect(existsSync(join(folder, "..", path))).toBe(true);
    }
    expect(instructions.filter(([name]) => name === "USER").at(-1)?.[1]).toBe("node");
    for (const name of ["ENTRYPOINT", "CMD"])
      expect(() => JSON.parse(instructions.find(([one]) => one === name)?.[1] ?? "")).not.toThrow();
    expect(readFileSync(join(folder, "Dockerfile.dockerignore"), "utf8")).toContain("node_modules");
    for (const script of ["entrypoint.sh", "update.sh"]) execFileSync("sh", ["-n", join(folder, script)]);
  });
});

/** `scriptorium` as the image has it, in a folder for PATH. */
function commandsFolder(): string {
  const bin = temporaryFolder();
  const built = new URL("../dist/scriptorium.js", import.meta.url).pathname;
  writeFileSync(join(bin, "scriptorium"), `#!/bin/sh\nexec "${process.execPath}" "${built}" "$@"\n`);
  chmodSync(join(bin, "scriptorium"), 0o755);
  return bin;
}

test("M15: the commands of the compose file work together: a session of one server is good at the other, behind the shipped proxy", async () => {
  if (!existsSync("/usr/sbin/nginx"))
    skipNow("nginx is not installed; install it with `apt-get install -y nginx-light`");
  const { root, app } = await newWorkspace({ engine: "postgres", store: "database" });
  if (app.config.database.engine !== "postgres") throw new Error("not on PostgreSQL");
  const { services } = compose();
  const bin = commandsFolder();
  const env = {
    ...testEnvironment(),
    PATH: `${bin}:${process.env.PATH}`,
    WORKSPACE_REPOSITORY: root,
    SCRIPTORIUM_DATABASE_URL: app.config.database.url,
    SCRIPTORIUM_BASE_URL: publicUrl,
    SCRIPTORIUM_TRUSTED_PROXIES: "127.0.0.1/32",
  };
  const ports: Record<string, number> = {};
  const announced: Record<string, Promise<string>> = {};
  const workers: ReturnType<typeof spawn>[] = [];
  for (const [name, { command }] of Object.entries(services)) {
    if (!command) continue;
    const volume = join(temporaryFolder(), name);
    mkdirSync(volume);
    // Only loopback, and a port for each, since there is one machine here.
    const port = await freePort();
    const words = command.map((word) => (word === "0.0.0.0" ? "127.0.0.1" : word));
    const more = words[0] === "serve" ? ["--port", String(port), "--json"] : [];
    const child = spawn("sh", [join(folder, "entrypoint.sh"), ...words, ...more], { cwd: volume, env });
    let stderr = "";
    child.stderr.on("data", (chunk) => (stderr += chunk));
    const ended = new Promise((done) => child.once("close", done));
    onTestFinished(async () => {
      child.kill("SIGTERM");
      await ended;
    });
    if (words[0] !== "serve") {
      workers.push(child);
      continue;
    }
    ports[name] = port;
    announced[name] = new Promise((done, fail) => {
      child.stdout.once("data", (chunk) => done(String(chunk)));
      child.once("close", () => fail(new Error(stderr)));
    });
    await announced[name];
  }
  const servers = Object.entries(ports).map(([name, port]): [string, string] => [`${name}:4750`, `127.0.0.1:${port}`]);
  expect(servers.length).toBe(2);
  const { port, ca } = await startNginx("compose/upstream.conf", servers, (text) =>
    text.replace("hash $remote_addr consistent;", ""),
  );

  const { link } = JSON.parse((await announced["server-1"]) ?? "");
  const code = new URL(link).searchParams.get("code");
  const origin = { origin: publicUrl };
  const signIn = await overTls(port, "/sign-in", { method: "POST", headers: origin, body: { code } }, ca);
  expect(signIn.status).toBe(200);
  const session = {
    cookie: String(signIn.headers["set-cookie"]?.[0]).split(";", 1)[0] ?? "",
    "x-page-secret": signIn.json().page_secret,
  };
  // Without `hash`, requests alternate between the servers.
  for (let n = 0; n < 6; n++) expect((await overTls(port, "/api/entries", { headers: session }, ca)).status).toBe(200);

  const dockerfile = read("Dockerfile").replaceAll(/\\\n\s*/g, "");
  const check: string[] = JSON.parse(/^HEALTHCHECK .*CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? "[]");
  for (const own of Object.values(ports))
    execFileSync(
      check[0] ?? "",
      check.slice(1).map((word) => word.replace("4750", String(own))),
    );
  const healthy = check.slice(1).map((word) => word.replace("4750", "1"));
  expect(() => execFileSync(check[0] ?? "", healthy, { stdio: "ignore" })).toThrow();
  expect(workers.map(({ exitCode, signalCode }) => [exitCode, signalCode])).toEqual([
    [null, null],
    [null, null],
  ]);
}, 120_000);

test("M15: a container fast-forwards its clone when it starts and on demand, and never touches uncommitted or diverged work", () => {
  const origin = temporaryFolder();
  const at = gitIn(origin);
  at("init", "-q", "-b", "main");
  const commit = (name: string, content: string) => {
    writeFileSync(join(origin, name), content);
    at("add", name);
    at("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", `Write ${name}`);
    return at("rev-parse", "HEAD");
  };
  const first = commit("scriptorium.yaml", "name: Test\n");
  const bin = temporaryFolder();
  writeFileSync(join(bin, "scriptorium"), "#!/bin/sh\n");
  copyFileSync(join(folder, "update.sh"), join(bin, "scriptorium-update"));
  for (const name of ["scriptorium", "scriptorium-update"]) chmodSync(join(bin, name), 0o755);
  const clone = temporaryFolder();
  const own = gitIn(clone);
  const env = { ...testEnvironment(), PATH: `${bin}:${process.env.PATH}`, WORKSPACE_REPOSITORY: origin };
  const run = (...words: string[]) => {
    const { status, stderr } = spawnSync(words[0] ?? "", words.slice(1), { cwd: clone, env, encoding: "utf8" });
    return { status, stderr, head: own("rev-parse", "HEAD") };
  };
  const begin = () => run("sh", join(folder, "entrypoint.sh"), "serve");
  expect(begin()).toEqual({ status: 0, stderr: "", head: first });

  const second = commit("a.txt", "one\n");
  expect(begin()).toMatchObject({ status: 0, head: second });
  const third = commit("a.txt", "two\n");
  expect(run("scriptorium-update")).toMatchObject({ status: 0, head: third });
  expect(run("scriptorium-update")).toEqual({ status: 0, stderr: "", head: third });

  writeFileSync(join(clone, "a.txt"), "mine\n");
  const fourth = commit("a.txt", "three\n");
  const refused = run("scriptorium-update");
  expect(refused).toMatchObject({ status: 1, head: third });
  expect(refused.stderr).toContain("main cannot be fast-forwarded to origin/main");
  expect(begin().status).toBe(0);
  expect(readFileSync(join(clone, "a.txt"), "utf8")).toBe("mine\n");
  own("checkout", "-q", "a.txt");
  expect(run("scriptorium-update").head).toBe(fourth);

  own("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "Mine", "--allow-empty");
  const mine = own("rev-parse", "HEAD");
  expect(run("scriptorium-update")).toEqual({ status: 0, stderr: "", head: mine });
  commit("a.txt", "four\n");
  const diverged = run("scriptorium-update");
  expect(diverged).toMatchObject({ status: 1, head: mine });
  expect(diverged.stderr).toContain("main and origin/main have diverged; push or merge the commits that only this");
  rmSync(origin, { recursive: true });
  expect(run("scriptorium-update").stderr).toContain("the repository cannot be fetched: ");
  expect(begin().status).toBe(0);
});

test("O5: every metric that the dashboard asks for is in /metrics", async () => {
  const { root } = await newWorkspace({ engine: "postgres" });
  const { url, token } = await serve(root);
  const { text } = await ask(url, "/metrics", { token });
  const dashboard = JSON.parse(read("grafana-dashboard.json")) as {
    panels: { title: string; targets: { expr: string }[] }[];
    templating: { list: { query: string | { query: string } }[] };
  };
  const queries = [
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...dashboard.templating.list.map(({ query }) => (typeof query === "string" ? query : query.query)),
  ];
  const asked = new Set(queries.flatMap((query) => query.match(/scriptorium_\w+/g) ?? []));
  expect(asked.size).toBeGreaterThanOrEqual(9);
  const known = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name));
  const missing = [...asked].filter((name) => !known.has(name));
  expect(missing).toEqual([]);
  for (const line of [
    /^scriptorium_claims\{state="held"\} 0$/m,
    /^scriptorium_claims\{state="expired"\} 0$/m,
    /^scriptorium_queue\{state="(git|search|jobs|gates)"\} \d+$/m,
    /^scriptorium_database_connections\{state="busy"\} \d+$/m,
  ])
    expect(text).toMatch(line);
});

import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { agentWorkIsOff } from "../agents/no-agent.ts";
import { setUpAgent } from "../agents/setup.ts";
import { openToolSocket } from "../agents/tool-socket.ts";
import { type App, openApp } from "../app.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { environment, findWorkspace } from "../config/environment.ts";
import { noteWaitingSettings } from "../config/operations.ts";
import { showPresence } from "../jobs/presence.ts";
import { openQueue } from "../jobs/queue.ts";
import type { Person } from "../kernel/caller.ts";
import { escapeHidden, spellHidden } from "../kernel/hidden.ts";
import type { Log } from "../kernel/log.ts";
import { Refused, unwrap } from "../kernel/result.ts";
import { stopSignals } from "../kernel/stop-signals.ts";
import { storageProblem } from "../kernel/storage-problem.ts";
import { allOperations } from "../operation-list.ts";
import { browserAddress, linkAt, originOf, recordPort } from "../people/browser-address.ts";
import { linkMinutes } from "../people/sign-in-links.ts";
import { workspaceToken } from "../people/tokens.ts";
import { keepAnchors } from "../review/topics/keep-anchors.ts";
import { gitAt } from "../store/git/git.ts";
import { writeEditorSchemas } from "../wiki/editor-schemas.ts";
import { watchPages } from "../wiki/pages/watch-pages.ts";
import { watchEntries } from "../wiki/stores/watch.ts";
import { openAgentSocket } from "./agent-socket.ts";
import { openCertificate } from "./certificate.ts";
import { close, type ListenOptions, listen, listenHost } from "./listening.ts";
import { openLog } from "./open-log.ts";
import { httpServer } from "./server.ts";
import { traceAddress } from "./trace-address.ts";
import { startUpkeep } from "./upkeep.ts";

const warmAfterMs = 500;
const resumeAgainMs = 2000;

/** Serves the workspace until a stop signal, then finishes open requests and records what is pending. */
export async function serve(options: { dir?: string; json?: boolean } & ListenOptions): Promise<void> {
  const env = environment();
  const config = unwrap(loadConfig(unwrap(findWorkspace(options.dir ?? process.cwd())), env));
  const log = openLog(env.SCRIPTORIUM_LOG ?? "warn");
  const server = await openServer(config, log, options.port ?? config.port, options);
  // Before the announcement, because a signal may follow it immediately.
  const signalled = new Promise<void>((stop) => {
    for (const signal of stopSignals) process.once(signal, () => stop());
  });
  announce(options.json ?? false, config, server);
  if (!config.agent) process.stderr.write(`${agentWorkIsOff}\n`);
  // Delayed, so that a server that is stopped at once does not start the renderer.
  const warming = setTimeout(server.warm, warmAfterMs).unref();
  await resumeRuns(server, log, signalled);
  await signalled;
  clearTimeout(warming);
  await server.close();
}

/**
 * While the database is away, the server answers 503 and its runs wait, as they would later. After any other error it
 * ends: a server that executes no run looks healthy.
 */
async function resumeRuns(server: OpenServer, log: Log, signalled: Promise<void>): Promise<void> {
  let isStopping = false;
  const stopped = signalled.then(() => {
    isStopping = true;
  });
  while (!isStopping) {
    try {
      return await server.resumeRuns();
    } catch (error) {
      if (storageProblem(error)?.details?.reason !== "unavailable") {
        await server.close();
        throw error;
      }
      log.warn({ error: String(error), again_s: resumeAgainMs / 1000 }, "runs-not-resumed");
      await Promise.race([stopped, sleep(resumeAgainMs, undefined, { ref: false })]);
    }
  }
}

export type OpenServer = {
  /** For scripts, with the token: on loopback if the server listens there without TLS. Not every program resolves the name in `link`. */
  url: string;
  token: string;
  /** Signs the owner in, once; the host is the public one, or the workspace's own name. */
  link: string;
  /** The same page under `url`, for browsers that do not resolve the name. */
  fallbackLink: string;
  /** Resumes the runs that the last server left unfinished. */
  resumeRuns(): Promise<void>;
  /** Starts the renderer, so that the first page does not wait for it. */
  warm(): void;
  /** Finishes open requests, stops jobs and runs, and records what is pending. */
  close(): Promise<void>;
};

/** Serves the workspace until it is closed, on loopback unless it is configured otherwise; port 0 picks a free one. */
export async function openServer(
  config: Config,
  log: Log,
  port: number,
  options: ListenOptions = {},
): Promise<OpenServer> {
  await refuseCommittedState(config);
  unwrap(config.trust.check("server"));
  const host = unwrap(listenHost(config, options));
  const certificate = config.tls && openCertificate(config.tls, config.root, log);
  if (config.agent && config.trust.check("agents").ok) unwrap(setUpAgent(config));
  const token = workspaceToken(join(config.stateFolder, "token"));
  const app = await openApp(config, {
    log,
    host: { background: true },
    tellProgress: (line) => void process.stderr.write(`scriptorium: ${line}\n`),
  });
  const stopping = new AbortController();
  /** What is open, in the order in which it is closed. */
  const open: Partial<Record<(typeof closingOrder)[number], () => unknown>> = { app: () => app.close() };
  async function closeAll(): Promise<void> {
    stopping.abort();
    certificate?.close();
    const errors: unknown[] = [];
    for (const part of closingOrder) {
      try {
        await open[part]?.();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  try {
    const owner = await ownerOf(app);
    const address = await browserAddress(app.db);
    let bound = 0;
    const reach = {
      ...{ localName: address.host, port: () => bound, isTls: certificate !== undefined },
      ...{ baseUrl: config.baseUrl, trustedProxies: config.trustedProxies },
    };
    const http = httpServer(app, { token, owner, cookie: address.cookie, reach, stopping: stopping.signal });
    open.http = http.close;
    // Accept requests without Host here: the guard refuses them like those with a foreign Host.
    const listener = getRequestListener(http.fetch, { overrideGlobalObjects: false, hostname: "missing.invalid" });
    const listening = await listen(listener, { host, port, certificate });
    open.listening = () => Promise.all(listening.servers.map(close));
    bound = listening.port;

    await recover(app);
    await noteWaitingSettings(app);
    const jobs = await openJobs(app);
    open.jobs = jobs.stop;
    open.runs = () => app.host.stop();
    const watching = await Promise.all([watchEntries(app), watchPages(app)]);
    open.watching = () => Promise.all(watching.map((watch) => watch.stop()));
    open.upkeep = startUpkeep(app).stop;
    open.anchors = keepAnchors(app).stop;
    open.traces = (await openTraces(app))?.stop;
    open.agentSocket = (await openAgentSocket(app))?.close;
    open.recorded = recordPort(config.stateFolder, bound).remove;
    const isOnLoopback = host === undefined || /^(0\.0\.0\.0|::)$/.test(host);
    const url = isOnLoopback && !certificate ? `http://127.0.0.1:${bound}` : (config.baseUrl ?? "");
    const code = await codeForOwner(app, owner);
    return {
      url,
      token,
      link: linkAt(originOf(config.baseUrl, address, bound), code),
      fallbackLink: linkAt(config.baseUrl ?? url, code),
      resumeRuns: () => app.host.resume(),
      warm: () => http.warm(),
      close: closeAll,
    };
  } catch (error) {
    // A part that stays open would keep the process alive, and its port in use, without a server.
    await closeAll().catch(() => undefined);
    throw error;
  }
}

/** Requests end before what they use. */
const closingOrder = [
  ...(["agentSocket", "http", "recorded", "listening", "jobs", "runs", "watching"] as const),
  ...(["anchors", "traces", "upkeep", "app"] as const),
] as const;

/**
 * A token and a database that came with a clone are known to whoever committed them: the token signs in as the owner,
 * and the database can hold runs and jobs that a server would start.
 */
async function refuseCommittedState({ root, stateFolder, environment, trust }: Config): Promise<void> {
  if (trust.workspace.isTrustedFolder) return;
  const folder = basename(stateFolder);
  const git = gitAt(root, environment);
  const tracked = await git.list(["ls-files", "-z", "--cached", "--", `:(literal)${folder}`]).catch(() => []);
  if (tracked.length === 0) return;
  throw new Refused({
    code: "denied",
    message: `${tracked[0]} is committed to git, so that others know the token and the database of this workspace; run: git rm -r --quiet --cached ${folder} && rm -r ${folder}`,
  });
}

/** Also without an agent in the configuration, which may be added while the server runs; until then jobs are refused. */
async function openJobs(app: App): Promise<{ stop(): Promise<void> }> {
  const presence = showPresence(app.config.stateFolder);
  const setup = () => setUpAgent(app.config);
  const queue = await openQueue(app, { setup, operations: allOperations, serveTools: openToolSocket, adopts: true });
  return {
    async stop() {
      await queue.stop();
      presence?.release();
    },
  };
}

function announce(json: boolean, config: Config, { url, token, link, fallbackLink }: OpenServer): void {
  if (json) return void process.stdout.write(`${escapeHidden(JSON.stringify({ url, token, link }))}\n`);
  // Safari does not resolve names below localhost.
  const safari = process.platform === "darwin" && !config.baseUrl ? `In Safari, open ${fallbackLink}\n` : "";
  const valid = `It works once, within ${linkMinutes.own} minutes; for another: scriptorium session link`;
  process.stdout.write(
    `${spellHidden(config.name)} is running at\n\n  ${link}\n\nOpen the link to sign in. ${valid}\n${safari}Press Ctrl-C to stop.\n`,
  );
}

/** Only with a collector: its libraries are not loaded otherwise. */
async function openTraces(app: App): Promise<{ stop(): Promise<void> } | undefined> {
  const address = traceAddress(app.config.environment);
  return address && (await import("./traces.ts")).startTraces(app, address);
}

async function codeForOwner(app: App, { name }: Person): Promise<string> {
  return (await app.codes.create({ person: name, isOwner: true, minutes: linkMinutes.own, by: name })).code;
}

async function ownerOf(app: App): Promise<Person> {
  const known = await app.git.person();
  return {
    kind: "person",
    name: known?.name ?? "owner",
    rank: "admin",
    isOwner: true,
    ...(known?.email ? { email: known.email } : {}),
  };
}

/** Deletes temporary files that a crash left. */
async function recover({ config, publications }: App): Promise<void> {
  await publications.sweep(join(config.root, config.wiki));
  await publications.sweep(join(config.root, config.sources));
  await writeEditorSchemas(config.stateFolder);
}

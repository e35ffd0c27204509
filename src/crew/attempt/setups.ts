import { lstat, mkdir, opendir, rm } from "node:fs/promises";
import { join } from "node:path";
import { registriesOf } from "../../agents/registries.ts";
import type { Sandbox } from "../../agents/sandbox/access.ts";
import { ok, type Problem, type Result, refuse } from "../../kernel/result.ts";
import { moveOut } from "../../store/disk/copy-tree.ts";
import { privateFolder } from "../../store/disk/private.ts";
import type { CrewApp } from "../record/crew-app.ts";
import type { News } from "../record/run-host.ts";
import { loginObstacle, type SetupSpec, setupOf } from "../record/setup-spec.ts";
import { recordSetup } from "../record/setups.ts";
import { cacheNames, commandLines, downloadCommand } from "../rules/setup.ts";
import { type Installation, setupCache } from "./install/cache.ts";
import { type CommandsResult, runCommands } from "./install/run-commands.ts";
import type { Worktrees } from "./worktree.ts";

type Deps = {
  app: CrewApp;
  sandbox: Sandbox;
  tell(news: News): void;
  /** The folder of the cache. */
  home: string;
  /** Checkouts of runs. */
  trees: Worktrees;
  /** Checkouts in which setups run. */
  setupTrees: Worktrees;
};

/** A commit whose dependencies are wanted. `task`: the task whose deliverable it is. */
type Wanted = { run: string; commit: string; task: string | null };

/**
 * The dependencies of runs. A setup runs once for each content of its inputs, in a checkout of its own; the files that it
 * makes and git does not track are kept, and copied into each checkout of the run.
 */
export function openSetups({ app, sandbox, tell, home, trees, setupTrees }: Deps) {
  const { git } = app;
  const cache = setupCache(home);

  /** The installation for a commit, made if there is none yet; undefined if the commit needs no setup. */
  async function ensure(wanted: Wanted, signal: AbortSignal): Promise<Result<Installation | undefined>> {
    const found = await lookUp(wanted);
    if (!found || found.installation) return ok(found?.installation);
    const lock = await cache.lock(found.name, signal);
    if (!lock) return refuse("refused", "the setup was stopped");
    try {
      const madeMeanwhile = await cache.find(found.name);
      return madeMeanwhile ? ok(madeMeanwhile) : await install(found, wanted, signal);
    } finally {
      lock.release();
    }
  }

  type Lookup = {
    spec: SetupSpec;
    name: string;
    commit: string;
    installation: Installation | undefined;
    isOwn: boolean;
  };

  async function lookUp({ run, commit }: Wanted): Promise<Lookup | undefined> {
    const plan = (await app.runs.find(run))?.plan ?? null;
    const spec = await setupOf(app, plan, commit);
    if (!spec) return undefined;
    const tip = await trees.tipOrHead(run);
    const { commit: head } = await git.head();
    const isPersons = head !== undefined && (await git.isAncestor(commit, head));
    const isAccepted = isPersons || (tip !== undefined && (await git.isAncestor(commit, tip)));
    // A deliverable with the same dependencies as the accepted work gets those, installed from the accepted work.
    if (!isAccepted && tip !== undefined && (await setupOf(app, plan, tip))?.hash === spec.hash)
      return lookUp({ run, commit: tip, task: null });
    const names = cacheNames(
      spec.hash,
      isPersons
        ? { kind: "person" }
        : isAccepted
          ? { kind: "accepted", run }
          : { kind: "deliverable", run, tree: await git.treeOf(commit) },
    );
    const name = names.at(-1) ?? names[0];
    for (const known of names) {
      const installation = await cache.find(known);
      if (!installation) continue;
      await cache.markUse(known, run);
      return { spec, name: known, commit, installation, isOwn: false };
    }
    await cache.markUse(name, run);
    return { spec, name, commit, installation: undefined, isOwn: !isAccepted };
  }

  async function install(
    { spec, name, commit, isOwn }: Lookup,
    { run, task }: Wanted,
    signal: AbortSignal,
  ): Promise<Result<Installation>> {
    const title = commandLines(spec.commands);
    const ended = await recordSetup(app, { run, task: isOwn ? task : null, spec }, "crew");
    tell({ kind: "setup-started", run, title });
    const scratch = join(home, "scratch", name);
    const draft = cache.draft(name);
    for (const folder of [scratch, draft]) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    await mkdir(draft, privateFolder);
    const tree = await setupTrees.open(`setup-${name}`, commit);
    try {
      const repository = setupTrees.beside(tree.cwd)?.repository;
      const place = { folder: tree.cwd, scratch, ...(repository ? { repository } : {}) };
      const { environment, crew } = app.config;
      const usesYarn = spec.commands.flat().includes("yarn");
      const registries = await registriesOf(environment, usesYarn, crew.registry_hosts);
      const options = { sandbox, config: app.config, run: `setup-${name}`, registries };
      const loaded = await download(options, { spec, name, commit, scratch }, signal);
      const installed =
        loaded.failure === undefined && !signal.aborted
          ? await runCommands(options, spec.commands, place, signal)
          : { failure: undefined, destinations: [] };
      const destinations = [...loaded.destinations, ...installed.destinations];
      const failure = loaded.failure ?? withReason(installed.failure, loaded.withheld);
      if (signal.aborted || failure !== undefined) {
        const error = signal.aborted ? "the setup was stopped" : (failure ?? "");
        await ended({ state: "failed", error, destinations });
        tell({ kind: "setup-finished", run, title, outcome: "failed", reason: error });
        const isUnreachable = destinations.some(({ allowed, reason }) => allowed && reason !== null);
        return refuse("refused", failed(error), { error, of_deliverable: isOwn && !isUnreachable });
      }
      const listed = await git.inCheckout(tree)(["ls-files", "-z", "--others", "--directory"]);
      const paths: string[] = [];
      for (const path of listed.split("\0").map((one) => one.replace(/\/$/, ""))) {
        if (path !== "" && (await moveOut(tree.folder, path, join(draft, "files", path)))) paths.push(path);
      }
      await mkdir(join(draft, "files"), privateFolder);
      const size = await sizeOf(join(draft, "files"));
      await cache.publish(name, draft, { paths, ...size, commands: spec.commands });
      await ended({ state: "installed", ...size, destinations });
      tell({ kind: "setup-finished", run, title, outcome: "installed", files: size.files });
      return ok({ folder: join(home, "made", name, "files"), paths, ...size });
    } finally {
      await setupTrees.remove(tree);
      for (const folder of [scratch, draft]) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  /**
   * Lets the package manager fill its caches with the person's logins, in a checkout that is deleted, without running a
   * script. The install that follows, with scripts and without logins, finds everything there.
   */
  async function download(
    options: Omit<Parameters<typeof runCommands>[0], "logins">,
    { spec, name, commit, scratch }: { spec: SetupSpec; name: string; commit: string; scratch: string },
    signal: AbortSignal,
  ): Promise<CommandsResult & { withheld?: string | undefined }> {
    const { logins } = options.registries;
    const nothing = { failure: undefined, destinations: [] };
    if (!logins) return nothing;
    const withheld = await loginObstacle(app, spec, commit);
    if (withheld !== undefined) return { ...nothing, withheld };
    const tree = await setupTrees.open(`setup-${name}-logins`, commit, { isBare: true });
    try {
      const commands = spec.commands.map(downloadCommand);
      return await runCommands({ ...options, logins }, commands, { folder: tree.cwd, scratch }, signal);
    } finally {
      await setupTrees.remove(tree);
    }
  }

  return {
    ensure,

    /** The dependencies of the accepted work, before any task starts. Records also that they were there already. */
    async atStart(run: string, signal: AbortSignal): Promise<Result<Installation | undefined>> {
      const commit = await trees.tipOrHead(run);
      if (commit === undefined) return ok(undefined);
      const wanted = { run, commit, task: null };
      const found = await lookUp(wanted);
      if (found?.installation) {
        const { spec, installation } = found;
        const { bytes, files } = installation;
        await (await recordSetup(app, { run, task: null, spec }, "crew"))({ state: "reused", bytes, files });
        tell({ kind: "setup-finished", run, title: commandLines(spec.commands), outcome: "reused", files });
        return ok(installation);
      }
      return found ? ensure(wanted, signal) : ok(undefined);
    },

    /** The dependencies of the work that is accepted so far. */
    async ofAccepted(run: string, signal: AbortSignal): Promise<Result<Installation | undefined>> {
      const commit = await trees.tipOrHead(run);
      return commit === undefined ? ok(undefined) : ensure({ run, commit, task: null }, signal);
    },
  };
}

export type Setups = ReturnType<typeof openSetups>;

export const isSetupFailure = ({ details }: Problem) => details?.of_deliverable !== undefined;

/** True if the setup of a deliverable failed for the deliverable's own reason, which its worker can mend. */
export const isDeliverablesFault = (details: Record<string, unknown> | undefined) => details?.of_deliverable === true;

const failed = (error: string) =>
  `the setup failed: ${error}\nNo attempt was used. Correct the cause, or Setup in the plan, and resume the run; \`setup: none\` in the crew block installs nothing`;

const withReason = (failure: string | undefined, withheld: string | undefined) =>
  failure !== undefined && withheld !== undefined
    ? `${failure}\nYour logins for registries were not used: ${withheld}`
    : failure;

async function sizeOf(folder: string): Promise<{ bytes: number; files: number }> {
  const size = { bytes: 0, files: 0 };
  const walk = async (at: string): Promise<void> => {
    for await (const item of await opendir(at)) {
      const path = join(at, item.name);
      if (item.isDirectory()) await walk(path);
      else {
        size.files++;
        size.bytes += (await lstat(path)).size;
      }
    }
  };
  await walk(folder);
  return size;
}

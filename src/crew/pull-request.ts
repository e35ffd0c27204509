import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { collaborators, operation } from "../kernel/operation.ts";
import { ok, refuse } from "../kernel/result.ts";
import { crashPoint } from "../store/disk/crash.ts";
import { appendEvent } from "../store/events.ts";
import { findRemote, pushBranch, replacedByPush } from "../store/git/push.ts";
import { personsProgram, type Ran, runForgeProgram } from "./forge-program.ts";
import { acceptedWork } from "./merge.ts";
import type { CrewApp } from "./record/crew-app.ts";
import { reportOf } from "./report/report.ts";
import {
  addressIn,
  type ForgeCommand,
  forgeOf,
  forges,
  isAlreadyOpen,
  openingCommand,
  repositoryOf,
  updatingCommand,
} from "./rules/pull-request.ts";

const replaced = z.object({
  commit: z.string(),
  commits: z.array(z.string()).describe("Subjects, newest first; empty if this repository lacks them"),
});
type Replaced = z.infer<typeof replaced>;

export const openPullRequest = operation({
  name: "open_pull_request",
  summary: "Push the accepted work of a run to a remote and open a pull request with gh or glab.",
  effect: "writes",
  touches: ["run"],
  callers: collaborators,
  group: "runs",
  http: { method: "post", path: "/runs/{id}/pull-request" },
  decision: (_app: CrewApp, { confirm }) => confirm,
  input: z.object({
    id: z.string().max(64).describe("Id of the run, such as run-…"),
    remote: z.string().min(1).max(200).optional().describe("Name of the remote; left out, the only one or origin"),
    base: z
      .string()
      .regex(/^[^-\s][^\s]*$/, "expected the name of a branch")
      .max(250)
      .optional()
      .describe("Branch to merge into; left out, the default branch of the remote"),
    draft: z.boolean().default(false).describe("Open it as a draft"),
    forge: z
      .enum(["github", "gitlab"])
      .optional()
      .describe("Which forge the remote is; left out, told from its address"),
    replace: z
      .string()
      .regex(/^[0-9a-f]{40,64}$/, "expected the full id of a commit")
      .optional()
      .describe("The commit of `replaces` in the preview: the push replaces it (--force-with-lease)"),
    confirm: z.boolean().default(false).describe("Without it, only a preview: nothing is pushed"),
  }),
  output: z.object({
    id: z.string(),
    remote: z.string(),
    url: z.string().describe("Address that is pushed to"),
    branch: z.string(),
    base: z.string().nullable().describe("Null is the default branch of the remote"),
    title: z.string(),
    replaces: replaced
      .nullable()
      .describe("What the remote has on this branch and the push would remove, such as work from before a rerun"),
    program: z.string().nullable().describe("The program that opens it; null if none was found"),
    pushed: z.boolean(),
    pull_request: z.string().nullable().describe("Address of the pull request"),
    message: z.string(),
  }),
  async run(app: CrewApp, { id, remote: named, base, draft, forge: given, replace, confirm }, caller) {
    const { environment, root } = app.config;
    const found = await acceptedWork(app, id);
    if (!found.ok) return found;
    const { run, branch, accepted } = found.value;
    const options = { root, env: environment };
    const remote = await findRemote(options, named);
    if (!remote.ok) return remote;
    const { name, url, configured } = remote.value;
    const forge = given ?? forgeOf(configured) ?? forgeOf(url);
    const program = forge && personsProgram(forges[forge].program, environment.PATH ?? "", await app.git.top());
    const commit = await replacedByPush(options, remote.value, branch);
    const replaces = commit === undefined ? null : await describe(app, commit, accepted);
    const shown = {
      replaces,
      ...{ id, remote: name, url, branch, base: base ?? null, title: run.title },
      program: forge && program ? forges[forge].program : null,
    };
    if (!confirm)
      return ok({
        ...shown,
        pushed: false,
        pull_request: null,
        message: `preview: confirm: true pushes ${branch} to ${name} (${url})`,
      });
    if (replaces && replace !== replaces.commit) return refuse("conflict", whyReplaced(shown, replaces));
    const report = await reportOf(app, id);
    if (!report.ok) return report;
    const pushed = await pushBranch(options, remote.value, branch, replaces ? replace : undefined);
    if (!pushed.ok) return pushed;
    crashPoint("branch-pushed");
    const record = (pull_request: string | null) =>
      app.db.write((tx) => {
        const data = { remote: name, url, branch, pull_request };
        const at = app.now().toISOString();
        return appendEvent(tx, { at, actor: nameOf(caller), kind: "run-pushed", subject: `run:${id}`, data });
      });
    if (!forge || !program) {
      await record(null);
      const why = forge ? `${forges[forge].program} is not installed` : `it is not known which forge ${name} is`;
      const message = `${branch} is pushed to ${name}; ${why}, so open the pull request on its website`;
      return ok({ ...shown, program: null, pushed: true, pull_request: null, message });
    }
    const repository = repositoryOf(configured) ?? repositoryOf(url);
    const request = { repository, branch, base, title: run.title, text: report.value, draft };
    const perform = ({ args, input }: ForgeCommand) =>
      runForgeProgram(program, args, { cwd: root, env: environment, input });
    const ran = await perform(openingCommand(forge, request));
    crashPoint("pull-request-opened");
    const said = `${ran.stdout}\n${ran.stderr}`;
    // Opened before, by a person or by a call that was killed before it could record it.
    const isOpen = ran.code !== 0 && isAlreadyOpen(said);
    const address = ran.code === 0 || isOpen ? (addressIn(ran.stdout) ?? addressIn(ran.stderr)) : undefined;
    await record(address ?? null);
    if (isOpen) {
      const edited = await perform(updatingCommand(forge, request));
      const text =
        edited.code === 0
          ? "its text was updated"
          : `${forges[forge].program} could not update its text: ${lastWords(edited)}`;
      const message = `${branch} is pushed to ${name}; its pull request is open already${address ? `: ${address}` : ""}; ${text}`;
      return ok({ ...shown, program: forges[forge].program, pushed: true, pull_request: address ?? null, message });
    }
    if (ran.code !== 0)
      return refuse(
        "refused",
        `${branch} is pushed to ${name}, but ${forges[forge].program} opened no pull request: ${lastWords(ran)}`,
        { pushed: true },
      );
    const message = address ? `opened ${address}` : `opened: ${ran.stdout.trim().slice(-500)}`;
    return ok({ ...shown, program: forges[forge].program, pushed: true, pull_request: address ?? null, message });
  },
});

const mostSubjects = 20;

async function describe({ git }: CrewApp, commit: string, accepted: string): Promise<Replaced> {
  const range = ["--format=%s", `--max-count=${mostSubjects}`, "--first-parent", commit, `^${accepted}`, "--"];
  const subjects = await git.maybe(["log", ...range]);
  return { commit, commits: (subjects ?? "").split("\n").filter((line) => line !== "") };
}

const whyReplaced = ({ branch, remote }: { branch: string; remote: string }, { commit }: Replaced) =>
  `${branch} on ${remote} is at ${commit.slice(0, 12)}, which the accepted work no longer contains, as after a rerun; nothing was pushed. ` +
  `To replace it, confirm with replace: ${commit}, on the command line with --force-with-lease`;

const lastWords = ({ stdout, stderr }: Ran) => (stderr || stdout).trim().slice(-2000);

import { spawn } from "node:child_process";
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import type { App } from "../app.ts";
import { listRequestTemplates, startRun } from "../crew/execute-operations.ts";
import type { Planned } from "../crew/record/run-host.ts";
import { baseOf, planFile } from "../crew/rules/chain-file.ts";
import { nameOf } from "../kernel/caller.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { stopSignals } from "../kernel/stop-signals.ts";
import { ownBookBranch } from "../store/git/book-branch.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, complain, localPerson, perform, print, readInput, report, withApp } from "./session.ts";
import { writeErr } from "./shell.ts";
import { bold, inert, table } from "./text.ts";

export const planCommand = (common: () => Common) =>
  new Command("plan")
    .description("plan a request: tasks, their workers and verifiers, and checks")
    .argument("[request...]", "what you want done; - reads it from stdin")
    .option("--brief", "first have an agent write a specification of the request")
    .option("--no-brief", "plan from the request itself (default)")
    .option("--resume <run>", "continue planning a run whose planner ended without a plan; its tasks so far are kept")
    .option("--template <name>", "make the request from a template; its first parameter is the request given here")
    .option("--set <name=value>", "value of a parameter of the template; repeat it for several", collect, {})
    .option("--templates", "list the templates and their parameters")
    .option("--open", "edit the plan in $EDITOR before it is saved")
    .action((words, { brief, open, resume, template, set: values, templates }) =>
      withApp(common(), async (app) => {
        if (templates) return report(common(), listRequestTemplates, {}, listed);
        const said = words.join(" ");
        const request = (said === "-" ? (await readInput("-")).toString("utf8") : said).trim();
        const isRequested = request !== "" || template !== undefined;
        if (isRequested === (resume !== undefined))
          return complain(common(), {
            code: "invalid",
            message:
              resume === undefined
                ? 'the request is empty; run: scriptorium plan "what you want done"'
                : "--resume continues with the request of the run; leave the request and the template out",
          });
        const wanted =
          resume === undefined
            ? {
                ...(request === "" ? {} : { request }),
                ...(template === undefined ? {} : { template }),
                ...(Object.keys(values).length === 0 ? {} : { values }),
                brief: brief === true,
              }
            : { run: resume };
        const planned = await plan(app, common(), wanted);
        const opened = planned.ok && open ? await edited(app, common(), planned.value) : planned;
        const setting = app.config.bookBranch;
        const bookBranch = setting && (await ownBookBranch(app.git, setting));
        print(common(), opened, (planned) => described(planned, bookBranch));
      }),
    );

type Values = Record<string, string>;
type Wanted = { request?: string; template?: string; values?: Values; brief: boolean } | { run: string };

function collect(given: string, before: Values): Values {
  const [name = "", ...rest] = given.split("=");
  if (rest.length === 0) throw new InvalidArgumentError("Expected name=value.");
  return { ...before, [name.trim()]: rest.join("=") };
}

const listed = ({ templates, problems }: OutputOf<typeof listRequestTemplates>) =>
  [
    ...templates.map(({ name, description, parameters, file }) =>
      [
        `${bold(name)}${file === null ? "" : ` (${file})`}  ${description}`,
        ...parameters.map(({ name, label, optional }) => `  ${name}  ${label}${optional ? " (optional)" : ""}`),
      ].join("\n"),
    ),
    ...problems,
  ].join("\n");

async function plan(app: App, common: Common, wanted: Wanted): Promise<Result<Planned>> {
  const onSignal = () => void app.host.stop();
  for (const signal of stopSignals) process.once(signal, onSignal);
  const unsubscribe = app.host.onNews((news) => {
    if (news.kind === "model-retry") writeErr(`scriptorium: ${inert(news.reason ?? "")}\n`);
  });
  try {
    const planned = await perform(app, common, startRun, wanted);
    if (!planned.ok) return planned;
    const { run, chain = app.runs.chainPath(run), tasks = [] } = planned.value;
    return ok({ run, chain, tasks });
  } finally {
    unsubscribe();
    for (const signal of stopSignals) process.off(signal, onSignal);
  }
}

/** Opens the editor and adopts the edited plan; an invalid file stays as it is, for the person to correct. */
async function edited(app: App, common: Common, planned: Planned): Promise<Result<Planned>> {
  const { VISUAL, EDITOR } = app.config.environment;
  const [program, ...args] = (VISUAL || EDITOR || "").split(" ").filter((word) => word !== "");
  if (!program)
    return refuse("invalid", `the variable EDITOR is not set; the plan is in ${planned.chain}`, {
      run: planned.run,
    });
  const before = (await app.runs.find(planned.run))?.planHash;
  const code = await new Promise<number | null>((done, fail) =>
    spawn(program, [...args, planned.chain], { stdio: ["inherit", process.stderr, "inherit"] })
      .on("error", fail)
      .on("close", done),
  ).catch((error: Error) => error.message);
  if (code !== 0)
    return refuse("refused", `${program} exited with code ${code}; the plan is in ${planned.chain}`, {
      run: planned.run,
    });
  const now = await app.runs.find(planned.run);
  if (now?.plan && now.planHash !== before)
    return refuse(
      "conflict",
      `the plan of run ${planned.run} was saved by someone else while you edited it; your text is in ${planned.chain} and was not saved: merge the two there, with the line "Based on: ${baseOf(now.planHash ?? "")}", then run: scriptorium execute ${planned.run}`,
      { run: planned.run, latestContent: planFile(now, now.plan) },
    );
  const read = await app.runs.readBack(planned.run, nameOf(await localPerson(app, common)));
  if (!read.ok) return read;
  const tasks = (await app.runs.tasks(planned.run)).map(({ number, task }) => ({
    id: task.id,
    number,
    title: task.title,
  }));
  return ok({ ...planned, tasks });
}

const described = ({ run, chain, tasks }: Planned, bookBranch: string | undefined) =>
  [
    table([["task", "title"], ...tasks.map((task) => [task.number, task.title])]),
    "",
    `${run}: the plan is in ${chain}`,
    `accepted files are committed to scriptorium/${run}/accepted, entries of the wiki to ${bookBranch ?? "the branch that is checked out"}`,
    `edit the file if needed, then run: scriptorium execute ${run}`,
  ].join("\n");

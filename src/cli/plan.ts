import { spawn } from "node:child_process";
import { Command } from "@commander-js/extra-typings";
import type { App } from "../app.ts";
import { startRun } from "../crew/execute-operations.ts";
import type { Planned } from "../crew/record/run-host.ts";
import { nameOf } from "../kernel/caller.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { stopSignals } from "../kernel/stop-signals.ts";
import { type Common, complain, localPerson, print, readInput, withApp } from "./session.ts";
import { table } from "./text.ts";

export const planCommand = (common: () => Common) =>
  new Command("plan")
    .description("make a plan for a request: tasks, who does and who verifies them, and how that is checked")
    .argument("<request...>", "what you want; - reads it from stdin")
    .option("--brief", "first let an agent turn the request into a specification")
    .option("--no-brief", "plan from the request as it is (default)")
    .option("--open", "open the plan in $EDITOR; what you change there is what will run")
    .action((words, { brief, open }) =>
      withApp(common(), async (app) => {
        const said = words.join(" ");
        const request = (said === "-" ? (await readInput("-")).toString("utf8") : said).trim();
        if (request === "")
          return complain(common(), { code: "invalid", message: 'say what you want: scriptorium plan "…"' });
        const planned = await plan(app, request, brief === true);
        const opened = planned.ok && open ? await edited(app, planned.value) : planned;
        print(common(), opened, described);
      }),
    );

async function plan(app: App, request: string, brief: boolean): Promise<Result<Planned>> {
  const onSignal = () => void app.host.stop();
  for (const signal of stopSignals) process.once(signal, onSignal);
  try {
    const planned = await startRun.perform(app, { request, brief }, await localPerson(app));
    if (!planned.ok) return planned;
    const { run, chain = app.runs.chainPath(run), tasks = [] } = planned.value;
    return ok({ run, chain, tasks });
  } finally {
    for (const signal of stopSignals) process.off(signal, onSignal);
  }
}

/** Opens the editor and adopts the edited plan; an invalid file stays as it is, for the person to correct. */
async function edited(app: App, planned: Planned): Promise<Result<Planned>> {
  const { VISUAL, EDITOR } = app.config.environment;
  const [program, ...args] = (VISUAL || EDITOR || "").split(" ").filter((word) => word !== "");
  if (!program)
    return refuse("invalid", `set EDITOR to the editor of your choice; the plan is in ${planned.chain}`, {
      run: planned.run,
    });
  const code = await new Promise<number | null>((done, fail) =>
    spawn(program, [...args, planned.chain], { stdio: ["inherit", process.stderr, "inherit"] })
      .on("error", fail)
      .on("close", done),
  ).catch((error: Error) => error.message);
  if (code !== 0)
    return refuse("refused", `${program} did not end well (${code}); the plan is in ${planned.chain}`, {
      run: planned.run,
    });
  const read = await app.runs.readBack(planned.run, nameOf(await localPerson(app)));
  if (!read.ok) return read;
  const tasks = (await app.runs.tasks(planned.run)).map(({ number, task }) => ({
    id: task.id,
    number,
    title: task.title,
  }));
  return ok({ ...planned, tasks });
}

const described = ({ run, chain, tasks }: Planned) =>
  [
    table([["task", "title"], ...tasks.map((task) => [task.number, task.title])]),
    "",
    `${run}: the plan is in ${chain}`,
    `change it there if you like, then: scriptorium execute ${run}`,
  ].join("\n");

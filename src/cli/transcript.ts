import { Command } from "@commander-js/extra-typings";
import type { App } from "../app.ts";
import { runTranscript } from "../crew/report/transcript.ts";
import { watchChanges } from "../store/wait-for-change.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, complain, perform, print, withApp } from "./session.ts";
import { writeOut } from "./shell.ts";
import { bold, dim, inertly, json, when } from "./text.ts";

export const transcriptCommand = (common: () => Common) =>
  new Command("transcript")
    .description(runTranscript.summary)
    .argument("<run>")
    .option("--task <number>", "only this task, by its number in the plan or its id")
    .option("--attempt <n>", "only this attempt", Number)
    .option("--part <part>", "only agents of this part: worker, qc, pm, brief, preamble or reporter")
    .option("--cursor <cursor>", "only entries after the one with this cursor")
    .option("--limit <n>", "entries of one page, at most 200", Number)
    .option("--characters <n>", "maximum length of one text", Number)
    .option("--follow", "go on printing until the run stops; with --json one entry per line")
    .action((id, { follow, cursor, ...rest }) =>
      withApp(common(), async (app) => {
        const input = { id, cursor: cursor ?? "0", limit: pageSize, ...rest };
        if (common().json && !follow) return print(common(), await page(app, common(), input), () => "");
        await printAll(app, common(), input, Boolean(follow));
      }),
    );

const pageSize = 100;
const recheckMs = 2000;

type Input = Parameters<typeof perform<(typeof runTranscript)["input"], (typeof runTranscript)["output"]>>[3];
type Entry = OutputOf<typeof runTranscript>["entries"][number];

const page = (app: App, common: Common, input: Input) => perform(app, common, runTranscript, input);

async function printAll(app: App, common: Common, input: Input, follow: boolean): Promise<void> {
  const changes = watchChanges(app.db);
  let { cursor } = input;
  try {
    for (;;) {
      const seen = changes.count();
      const state = (await app.runs.find(input.id ?? ""))?.state ?? "";
      const found = await page(app, common, { ...input, cursor });
      if (!found.ok) return complain(common, found.problem);
      for (const entry of found.value.entries)
        writeOut(common.json ? `${json(entry)}\n` : `${described(inertly(entry))}\n\n`);
      cursor = found.value.cursor;
      if (found.value.more) continue;
      const isLive = found.value.running || ["planning", "running"].includes(state);
      if (!follow || !isLive) return;
      await changes.after(seen, recheckMs);
    }
  } finally {
    changes.close();
  }
}

function described(entry: Entry): string {
  const { number, attempt, part, agent, at } = entry;
  const where = [...(number === null ? [] : [`task ${number}`]), ...(attempt === null ? [] : [`attempt ${attempt}`])];
  const head = `${bold(headOf(entry))} ${dim(`${[...where, part, agent].join(", ")}, ${when(at)}`)}`;
  return [head, ...bodyOf(entry)].filter((line) => line !== "").join("\n");
}

function headOf({ kind, tool = "", ok, sent_by = "", delivered = "" }: Entry): string {
  switch (kind) {
    case "sent":
      return "sent";
    case "said":
      return "said";
    case "call":
    case "own_call":
      return `called ${tool}${ok === false ? " (refused)" : ""}`;
    case "own_result":
      return ok === false ? "got an error" : "got";
    case "steering":
      return `got a message from ${sent_by} (${delivered === "turn" ? "between two turns" : "with a tool result"})`;
    case "retry":
      return "model call failed";
    case "notice":
      return "system";
    case "printed":
      return "printed";
    case "ended":
      return "ended";
  }
}

function bodyOf(entry: Entry): string[] {
  const { system, text, input, output, input_tokens, output_tokens, cost_usd } = entry;
  const used = [
    ...(input_tokens == null ? [] : [`${input_tokens} input tokens`]),
    ...(output_tokens == null ? [] : [`${output_tokens} output tokens`]),
    ...(cost_usd == null ? [] : [`$${cost_usd.toFixed(4)}`]),
  ];
  return [
    ...(system ? [system, ""] : []),
    text,
    ...(input === undefined ? [] : [input]),
    ...(output === undefined ? [] : [dim("→"), output].filter((one) => one !== "")),
    ...(entry.kind === "ended" && used.length > 0 ? [used.join(", ")] : []),
  ];
}

import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { Argument, Command } from "@commander-js/extra-typings";
import type { App } from "../app.ts";
import { loadConfig } from "../config/config.ts";
import { findWorkspace } from "../config/environment.ts";
import type { HookEvent } from "../hooks/answer.ts";
import { escapeHidden } from "../kernel/hidden.ts";
import type { Common } from "./session.ts";
import { endProcess, shell, writeErr, writeOut } from "./shell.ts";

/** How long a hook may take; then the client goes on without its answer. */
const limitsMs: Record<HookEvent, number> = {
  "session-start": 4000,
  "user-prompt": 800,
  stop: 2000,
  "pre-compact": 800,
};
const events = Object.keys(limitsMs) as [HookEvent, ...HookEvent[]];

/** A hook must never break or delay a session: whatever goes wrong, it prints nothing and exits with 0. */
export const hookCommand = (common: () => Common) =>
  new Command("hook")
    .description("answer a hook of an agent CLI: JSON on stdin and on stdout")
    .addArgument(new Argument("<event>", "what happened in the session").choices(events))
    .addHelpText("after", help)
    .action(async (event) => {
      let opened: App | undefined;
      const answered = answer(common(), event, (app) => {
        opened = app;
      }).catch(debug);
      const limit = Number(shell().env.SCRIPTORIUM_HOOK_MS) || limitsMs[event];
      const printed = await Promise.race([answered, sleep(limit, undefined, { ref: false })]);
      if (printed) writeOut(`${escapeHidden(printed)}\n`);
      // Closing the workspace would wait for other work, such as commits to git.
      endProcess();
      await answered;
      await opened?.close();
    });

async function answer(common: Common, event: HookEvent, onOpen: (app: App) => void): Promise<string | undefined> {
  const { env, cwd } = shell();
  // An agent that works on a job or a run has its own instructions.
  if (env.SCRIPTORIUM_JOB || env.SCRIPTORIUM_RUN) return undefined;
  const root = findWorkspace(resolve(cwd, common.dir ?? env.CLAUDE_PROJECT_DIR ?? "."));
  const config = root.ok ? loadConfig(root.value, env) : undefined;
  if (!config?.ok) return undefined;
  const [{ openApp }, { answerHook, hookInput }] = await Promise.all([
    import("../app.ts"),
    import("../hooks/answer.ts"),
  ]);
  const input = hookInput.parse(JSON.parse(await text(shell().stdin)));
  const app = await openApp(config.value);
  onOpen(app);
  return answerHook(app, event, input);
}

function debug(error: unknown): undefined {
  if (shell().env.SCRIPTORIUM_DEBUG) writeErr(`${error instanceof Error ? error.stack : String(error)}\n`);
}

const help = `
session-start adds the catalogue and open handoffs, user-prompt the passages that fit the prompt; stop asks once
per session to record decisions; pre-compact keeps unrecorded decisions in the summary of the conversation.
Settings: session: in scriptorium.yaml. The plugin for Claude Code and Codex calls this command.`;

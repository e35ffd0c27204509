import { isIP } from "node:net";
import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { findWorkspace } from "../config/environment.ts";
import type { Result } from "../kernel/result.ts";
import { parseToolGroups, type ToolGroup, toolGroups } from "../kernel/tool-groups.ts";
import { crashAt } from "../store/disk/crash.ts";
import { type Common, complain, withApp } from "./session.ts";
import { claimSecret, shell } from "./shell.ts";

export const serveCommand = (common: () => Common) =>
  new Command("serve")
    .description("start the server for browsers, scripts and agents")
    .option("--port <n>", "port to listen on; 0 for a free one", port)
    .option("--host <address>", "address to listen on, such as 0.0.0.0 (default: this machine only)", host)
    .option("--insecure-http", "listen for other machines without TLS")
    .option("--example", "serve an example workspace, created in .example/ on first use")
    .action(async ({ example, port, host, insecureHttp }) => {
      const [{ serve }, { openExample }] = await Promise.all([
        import("../http/serve.ts"),
        import("../http/example.ts"),
      ]);
      const options = common();
      crashAt(shell().env.SCRIPTORIUM_CRASH_AT);
      const dir = example ? await openExample(process.cwd()) : options.dir;
      await serve({ ...options, ...(dir ? { dir } : {}), port, host, insecureHttp });
    });

function port(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value <= 65_535) return value;
  throw new InvalidArgumentError("Expected a port from 0 to 65535; 0 for a free one.");
}

function host(text: string): string {
  if (text === "localhost" || isIP(text) !== 0) return text;
  throw new InvalidArgumentError("Expected an IP address such as 0.0.0.0, or localhost.");
}

export const mcpCommand = (common: () => Common) =>
  new Command("mcp")
    .description("serve one agent in one role over stdin and stdout (MCP)")
    .option("--role <role>", "role of the agent in schema.yaml (default: the only one)")
    .option("--run <id>", "run of the agent")
    .option("--task <id>", "task of the agent")
    .option("--epoch <n>", "epoch of the agent's claim; SCRIPTORIUM_CLAIM_SECRET has its secret", Number)
    .option("--tools <groups>", "tool groups to list beside core, such as graph,tasks; or all", toolGroupList)
    .option("--optional", "without a workspace or a role, connect without tools and explain instead of failing")
    .addHelpText("after", mcpHelp)
    .action(async ({ role, run, task, epoch, tools, optional }) => {
      const serve = () =>
        withApp(common(), async (app) => {
          const { serveMcp } = await import("../mcp/stdio.ts");
          const chosen = role ?? app.config.session.role;
          return serveMcp(app, {
            ...(chosen ? { role: chosen } : {}),
            ...(run ? { run } : {}),
            ...(task ? { task } : {}),
            ...(epoch === undefined ? {} : { epoch }),
            ...claimSecret(),
            ...(tools ? { groups: tools } : {}),
          });
        });
      const served = optional ? await serveIfPossible(common(), serve) : await serve();
      if (!served.ok) complain(common(), served.problem);
    });

async function serveIfPossible({ dir = "." }: Common, serve: () => Promise<Result<true>>): Promise<Result<true>> {
  const { serveOptional } = await import("../mcp/optional.ts");
  const folder = resolve(shell().cwd, dir);
  return serveOptional({ folder, workspace: findWorkspace(folder), serve });
}

function toolGroupList(list: string): readonly ToolGroup[] {
  const parsed = parseToolGroups(list);
  if (parsed.ok) return parsed.value;
  throw new InvalidArgumentError(parsed.problem.message);
}

const mcpHelp = `
Tool groups (a tool outside the list can still be called by name):
${Object.entries(toolGroups)
  .map(([name, about]) => `  ${name.padEnd(9)}${about}`)
  .join("\n")}

Example: claude mcp add scriptorium -- scriptorium mcp --role engineer --dir /path/to/workspace`;

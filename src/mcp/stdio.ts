import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { App } from "../app.ts";
import { type Caller, newTurn } from "../people/caller.ts";
import { type Result, refuse } from "../result.ts";
import { rolesOf } from "../wiki/schema.ts";
import { mcpServer } from "./server.ts";

export type StdioOptions = { role: string; run?: string; task?: string; epoch?: number };

/** Serves one agent in one role over stdin and stdout until the client closes them. */
export async function serveMcp(app: App, options: StdioOptions): Promise<Result<true>> {
  const schema = await app.schema();
  if (!schema.ok) return schema;
  const roles = rolesOf(schema.value);
  if (!roles.includes(options.role)) {
    return refuse(
      "invalid",
      `no role ${options.role} in ${app.config.wiki}/schema.yaml; there are ${roles.join(", ")}`,
    );
  }
  const { role, run, task, epoch } = options;
  const caller: Caller = {
    kind: "agent",
    role,
    turn: newTurn(run, true),
    ...(task ? { task } : {}),
    ...(epoch === undefined ? {} : { epoch }),
  };
  const recording = setInterval(
    () => void app.recorder.record().catch((error) => app.log.error({ error }, "record-failed")),
    500,
  );
  recording.unref();

  const handle = serveStdio(() => mcpServer(app, caller));
  await new Promise<void>((done) => {
    process.stdin.once("end", done);
    process.stdin.once("close", done);
    process.once("SIGINT", () => done());
    process.once("SIGTERM", () => done());
  });
  clearInterval(recording);
  await handle.close();
  return { ok: true, value: true };
}

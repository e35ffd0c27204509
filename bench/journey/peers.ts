import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { firstWrite } from "./mcp.ts";
import type { Product } from "./products.ts";
import { pageAt } from "./steps.ts";

export const backlog: Product = {
  name: "Backlog.md",
  spec: "backlog.md@1.52.0",
  notes: ["Backlog.md: the client's MCP entry is an edit by hand (`claude mcp add` where Claude Code is installed)."],
  walks: {
    async "a page in the browser"(person) {
      await person.type("backlog", ["init", "project", "--defaults"]);
      const port = await freePort();
      const args = ["browser", "--no-open", "--non-interactive", "--port", String(port)];
      await person.serve("backlog", args, () => pageAt(`http://127.0.0.1:${port}/`));
      return undefined;
    },
    async "a first task"(person) {
      await person.type("backlog", ["init", "project", "--defaults"]);
      await person.type("backlog", ["task", "create", "First task"]);
      return undefined;
    },
    async "an agent's first write by MCP"(person) {
      await person.type("backlog", ["init", "project", "--defaults", "--integration-mode", "mcp"]);
      person.edit("add the server to .mcp.json", () => undefined);
      const server = { command: "backlog", args: ["mcp", "start"] };
      return firstWrite(person, server, [{ name: "task_create", arguments: { title: "First task" } }]);
    },
  },
};

export const taskMaster: Product = {
  name: "Task Master",
  spec: "task-master-ai@0.43.1",
  notes: [
    "Task Master: has no browser interface; its tasks come from a model, so the first one needs an API key or a tasks.json written by hand.",
  ],
  walks: {
    async "a first task"(person) {
      await person.type("task-master", ["init", "--yes", "--name=project"]);
      person.edit("write tasks.json by hand", () => writeTasks(person.root));
      await person.type("task-master", ["add-task", "--title=First task", "--description=Do it"]);
      return undefined;
    },
    async "an agent's first write by MCP"(person) {
      await person.type("task-master", ["init", "--yes", "--name=project"]);
      person.edit("write tasks.json by hand", () => writeTasks(person.root));
      person.edit("add the server to .mcp.json", () => undefined);
      const write = { projectRoot: person.root, id: "1", status: "done" };
      return firstWrite(person, { command: "task-master-ai", args: [] }, [
        { name: "set_task_status", arguments: write },
      ]);
    },
  },
};

function writeTasks(root: string): void {
  const folder = join(root, ".taskmaster/tasks");
  mkdirSync(folder, { recursive: true });
  const task = { id: 1, title: "Begin", description: "Begin", status: "pending", priority: "medium", dependencies: [] };
  writeFileSync(
    join(folder, "tasks.json"),
    JSON.stringify({ master: { tasks: [{ ...task, subtasks: [] }], metadata: {} } }),
  );
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

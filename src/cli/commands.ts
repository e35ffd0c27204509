import type { Command } from "commander";
import type { Common } from "./session.ts";

/** Typed by its own options and arguments; the program needs none of that. */
type AnyCommand = { name(): string; description(): string };
type MakeCommand = (common: () => Common) => AnyCommand;

/** Every command of `scriptorium` in the order of its help, with the module that it is loaded from when it is named. */
const makers: Record<string, () => Promise<MakeCommand>> = {
  init: async () => (await import("./init.ts")).initCommand,
  connect: async () => (await import("./connect.ts")).connectCommand,
  agent: async () => (await import("./agent.ts")).agentCommand,
  remove: async () => (await import("./remove.ts")).removeCommand,
  allow: async () => (await import("./allow.ts")).allowCommand,
  serve: async () => (await import("./serve.ts")).serveCommand,
  mcp: async () => (await import("./serve.ts")).mcpCommand,
  hook: async () => (await import("./hook.ts")).hookCommand,
  retention: async () => (await import("./workspace.ts")).retentionCommand,
  status: async () => (await import("./workspace.ts")).statusCommand,
  doctor: async () => (await import("./doctor.ts")).doctorCommand,
  entry: async () => (await import("./entry.ts")).entryCommand,
  schema: async () => (await import("./schema.ts")).schemaCommand,
  section: async () => (await import("./schema.ts")).sectionCommand,
  search: async () => (await import("./search.ts")).searchCommand,
  graph: async () => (await import("./graph.ts")).graphCommand,
  page: async () => (await import("./page.ts")).pageCommand,
  source: async () => (await import("./source.ts")).sourceCommand,
  topic: async () => (await import("./topic.ts")).topicCommand,
  inbox: async () => (await import("./inbox.ts")).inboxCommand,
  activity: async () => (await import("./activity.ts")).activityCommand,
  notifications: async () => (await import("./notifications.ts")).notificationsCommand,
  proposal: async () => (await import("./proposal.ts")).proposalCommand,
  plan: async () => (await import("./plan.ts")).planCommand,
  execute: async () => (await import("./execute.ts")).executeCommand,
  work: async () => (await import("./execute.ts")).workCommand,
  run: async () => (await import("./run.ts")).runCommand,
  revert: async () => (await import("./revert.ts")).revertCommand,
  demo: async () => (await import("./demo.ts")).demoCommand,
  job: async () => (await import("./job.ts")).jobCommand,
  perspective: async () => (await import("./perspective.ts")).perspectiveCommand,
  task: async () => (await import("./task.ts")).taskCommand,
  token: async () => (await import("./token.ts")).tokenCommand,
  store: async () => (await import("./store.ts")).storeCommand,
  backup: async () => (await import("./backup.ts")).backupCommand,
  restore: async () => (await import("./backup.ts")).restoreCommand,
  session: async () => (await import("./session-command.ts")).sessionCommand,
  user: async () => (await import("./user.ts")).userCommand,
  model: async () => (await import("./search.ts")).modelCommand,
  completion: async () => (await import("./completion.ts")).completionCommand,
};

export const commandNames = Object.keys(makers);

export async function loadCommand(name: string, common: () => Common): Promise<Command> {
  const make = await makers[name]?.();
  if (!make) throw new Error(`no command ${name}`);
  return make(common) as Command;
}

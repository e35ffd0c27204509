import type { Command } from "commander";
import type { Common } from "./session.ts";

/** Typed by its own options and arguments; the program needs none of that. */
type AnyCommand = { name(): string; description(): string };
type MakeCommand = (common: () => Common) => AnyCommand;

/** Every command of `scriptorium` in the order of its help, by heading, with the module that it is loaded from when it is named. */
const groups: Record<string, Record<string, () => Promise<MakeCommand>>> = {
  "Set up": {
    init: async () => (await import("./init.ts")).initCommand,
    connect: async () => (await import("./connect.ts")).connectCommand,
    agent: async () => (await import("./agent.ts")).agentCommand,
    allow: async () => (await import("./allow.ts")).allowCommand,
    remove: async () => (await import("./remove.ts")).removeCommand,
    completion: async () => (await import("./completion.ts")).completionCommand,
  },
  "Read and write": {
    entry: async () => (await import("./entry.ts")).entryCommand,
    page: async () => (await import("./page.ts")).pageCommand,
    source: async () => (await import("./source.ts")).sourceCommand,
    search: async () => (await import("./search.ts")).searchCommand,
    graph: async () => (await import("./graph.ts")).graphCommand,
    schema: async () => (await import("./schema.ts")).schemaCommand,
    section: async () => (await import("./schema.ts")).sectionCommand,
    export: async () => (await import("./okf.ts")).exportCommand,
    import: async () => (await import("./okf.ts")).importCommand,
  },
  Review: {
    inbox: async () => (await import("./inbox.ts")).inboxCommand,
    topic: async () => (await import("./topic.ts")).topicCommand,
    trust: async () => (await import("./trust.ts")).trustCommand,
    proposal: async () => (await import("./proposal.ts")).proposalCommand,
    job: async () => (await import("./job.ts")).jobCommand,
    perspective: async () => (await import("./perspective.ts")).perspectiveCommand,
    activity: async () => (await import("./activity.ts")).activityCommand,
    notifications: async () => (await import("./notifications.ts")).notificationsCommand,
  },
  "Run a crew": {
    plan: async () => (await import("./plan.ts")).planCommand,
    execute: async () => (await import("./execute.ts")).executeCommand,
    work: async () => (await import("./execute.ts")).workCommand,
    run: async () => (await import("./run.ts")).runCommand,
    task: async () => (await import("./task.ts")).taskCommand,
    revert: async () => (await import("./revert.ts")).revertCommand,
    demo: async () => (await import("./demo.ts")).demoCommand,
  },
  "Serve and check": {
    serve: async () => (await import("./serve.ts")).serveCommand,
    mcp: async () => (await import("./serve.ts")).mcpCommand,
    hook: async () => (await import("./hook.ts")).hookCommand,
    status: async () => (await import("./workspace.ts")).statusCommand,
    doctor: async () => (await import("./doctor.ts")).doctorCommand,
  },
  Storage: {
    retention: async () => (await import("./workspace.ts")).retentionCommand,
    store: async () => (await import("./store.ts")).storeCommand,
    backup: async () => (await import("./backup.ts")).backupCommand,
    restore: async () => (await import("./backup.ts")).restoreCommand,
    model: async () => (await import("./search.ts")).modelCommand,
  },
  People: {
    user: async () => (await import("./user.ts")).userCommand,
    token: async () => (await import("./token.ts")).tokenCommand,
    session: async () => (await import("./session-command.ts")).sessionCommand,
  },
};

/** The commands of each heading of the help. */
export const commandGroups: [heading: string, names: string[]][] = Object.entries(groups).map(([heading, commands]) => [
  heading,
  Object.keys(commands),
]);

export const commandNames = commandGroups.flatMap(([, names]) => names);

export async function loadCommand(name: string, common: () => Common): Promise<Command> {
  const make = await Object.values(groups)
    .find((commands) => name in commands)
    ?.[name]?.();
  if (!make) throw new Error(`no command ${name}`);
  return make(common) as Command;
}

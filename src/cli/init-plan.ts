import { join } from "node:path";
import type { Environment } from "../config/environment.ts";
import { ok, type Result } from "../kernel/result.ts";
import { type Change, readText } from "../setup/change.ts";
import { changesOf, clientsNamed, type Plan, planEntries, wantedEntries } from "../setup/connect.ts";
import { type InitPlan, planWorkspace } from "../setup/init.ts";
import { instructionChanges, instructions } from "../setup/instructions.ts";
import { chooseRole } from "../wiki/role.ts";
import { rolesOf, type Schema } from "../wiki/schema.ts";

/** The flags of `init`. */
export type InitOptions = {
  template?: string | undefined;
  connect?: string | undefined;
  role?: string | undefined;
  bookBranch?: string | undefined;
  commit: boolean;
  instructions: boolean;
  skills?: true | undefined;
  nested?: true | undefined;
  yes?: true | undefined;
  json: boolean;
};

export const namesIn = (list: string) =>
  list === "none"
    ? []
    : list
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "");

/** What the person wants, from flags, answers or proposals. */
export type Wishes = {
  template: string;
  /** Names of clients. */
  connect: string[];
  role: string | undefined;
  bookBranch: string | undefined;
  commit: boolean;
  instructions: boolean;
  skills: boolean;
};

export type FullPlan = InitPlan & { clients: Plan | undefined };

/** Every change of `init`. Nothing is written: one file that cannot be edited refuses them all. */
export async function planInit(root: string, wishes: Wishes, env: Environment): Promise<Result<FullPlan>> {
  const workspace = planWorkspace(root, { name: wishes.template, bookBranch: wishes.bookBranch }, env);
  if (!workspace.ok) return workspace;
  const { schema, wiki, kept, booked } = workspace.value;
  const chosen = clientsNamed(wishes.connect);
  if (!chosen.ok) return chosen;
  const role = roleFor(schema, wishes.role, `${wiki}/schema.yaml`);
  if (!role.ok) return role;
  const wanted = wantedEntries(env, chosen.value, { scope: "project", role: role.value, tools: undefined });
  const clients = planEntries(root, env, wanted);
  if (!clients.ok) return clients;
  const told = wishes.instructions
    ? instructionChanges(root, instructions(schema, wiki), wishes.connect.includes("claude"))
    : ok([]);
  if (!told.ok) return told;
  const skills = wishes.skills ? await skillChanges(root) : ok([]);
  if (!skills.ok) return skills;

  const entries = changesOf(clients.value);
  const reason = "it names a path of this machine";
  return ok({
    root,
    changes: [...workspace.value.changes, ...entries, ...told.value, ...skills.value],
    kept,
    commit: wishes.commit,
    private: new Map([
      ...(clients.value.isPortable ? [] : entries.map(({ shown }) => [shown, reason] as const)),
      ...booked.map((path) => [path, `it is on the branch ${wishes.bookBranch}`] as const),
    ]),
    clients: chosen.value.length > 0 ? clients.value : undefined,
  });
}

/** The only role needs no mention; of several the first of the pipeline is proposed. */
function roleFor(schema: Schema, given: string | undefined, file: string): Result<string | undefined> {
  const roles = rolesOf(schema);
  if (given === undefined) return ok(roles.length === 1 ? undefined : roles[0]);
  return chooseRole(schema, given, file);
}

async function skillChanges(root: string): Promise<Result<Change[]>> {
  const { skillFiles } = await import("../agents/skills.ts");
  const changes: Change[] = [];
  for (const { path, text } of await skillFiles()) {
    const before = readText(join(root, path), path, root);
    if (!before.ok) return before;
    if (before.value !== text)
      changes.push({ file: join(root, path), shown: path, inside: root, before: before.value, after: text });
  }
  return ok(changes);
}

import { suggest } from "../kernel/nearest.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { rolesOf, type Schema } from "./schema.ts";

/** The role that was named, or the only one of the schema. `file` is the schema's name in the refusal. */
export function chooseRole(schema: Schema, given: string | undefined, file: string): Result<string> {
  const roles = rolesOf(schema);
  if (given === undefined) {
    const [only, ...others] = roles;
    if (only === undefined) return refuse("invalid", `${file} has no roles; add one to writable_by of a section`);
    return others.length === 0
      ? ok(only)
      : refuse("invalid", `choose a role with --role: ${file} has ${roles.join(", ")}`);
  }
  if (roles.includes(given)) return ok(given);
  return refuse("invalid", `role ${given} is not in ${file}; ${suggest(given, roles)}`);
}

/** The role under which a part of the crew writes: the configured one, or the only one of a schema without it. */
export function crewRole(schema: Schema, configured: string | undefined): string | undefined {
  const roles = rolesOf(schema);
  return roles.length === 1 && !roles.includes(configured ?? "") ? roles[0] : configured;
}

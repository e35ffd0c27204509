import { nearest } from "../kernel/nearest.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import { rolesOf, type Schema } from "./schema.ts";

/** The role that was named, or the only one of the schema. `file` is the schema's name in the refusal. */
export function chooseRole(schema: Schema, given: string | undefined, file: string): Result<string> {
  const roles = rolesOf(schema);
  const names = roles.join(", ");
  if (given === undefined) {
    const [only, ...others] = roles;
    if (only === undefined) return refuse("invalid", `${file} names no role; add one to writable_by of a section`);
    return others.length === 0 ? ok(only) : refuse("invalid", `choose a role with --role: ${file} has ${names}`);
  }
  if (roles.includes(given)) return ok(given);
  const meant = nearest(given, roles);
  const hint = meant ? `did you mean ${meant}? The` : "the";
  return refuse("invalid", `no role ${given} in ${file}; ${hint} roles are ${names}`);
}

/** The role under which a part of the crew writes: the configured one, or the only one of a schema without it. */
export function crewRole(schema: Schema, configured: string | undefined): string | undefined {
  const roles = rolesOf(schema);
  return roles.length === 1 && !roles.includes(configured ?? "") ? roles[0] : configured;
}

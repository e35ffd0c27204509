import * as z from "zod";
import { nameOf } from "../kernel/caller.ts";
import { operation, people } from "../kernel/operation.ts";
import { ok } from "../kernel/result.ts";
import { knownNames } from "./names.ts";
import type { PeopleApp } from "./people-app.ts";

export const listNames = operation({
  name: "list_names",
  summary: "List the people and agents that can be mentioned, and whether a person can be assigned.",
  effect: "reads",
  reads: ["user", "token", "section"],
  callers: people,
  group: "review",
  http: { method: "get", path: "/names" },
  input: z.object({}),
  output: z.object({
    names: z.array(
      z.object({
        name: z.string(),
        kind: z.enum(["person", "agent"]),
        assignable: z.boolean().describe("True for collaborators and admins"),
        is_you: z.boolean(),
      }),
    ),
  }),
  async run(app: PeopleApp, _input, caller) {
    const own = nameOf(caller);
    return ok({
      names: (await knownNames(app)).map((one) => ({
        name: one.name,
        kind: one.kind,
        assignable: one.kind === "person" && one.rank !== "reader",
        is_you: one.kind === "person" && one.name === own,
      })),
    });
  },
});

import type { Caller } from "../kernel/caller.ts";
import type { Schema } from "../wiki/schema.ts";

/** What a client tells its model about the server. Every conversation contains it, so it is short. */
export function instructions(workspace: string, caller: Caller, schema: Schema | undefined): string {
  const about = `Scriptorium workspace "${workspace}": markdown entries that agents and people share as their memory.`;
  if (caller.kind === "person") return about;
  const { role } = caller;
  const mine = schema?.sections.filter((section) => section.writable_by.includes(role)) ?? [];
  const hasNext = schema?.pipeline.includes(role) ?? false;
  const steps = [
    hasNext
      ? "list_entries shows the catalogue and the handoff of the previous role."
      : "list_entries shows the catalogue. It starts a new turn: call it when you begin a task.",
    `fetch_entry reads an entry: only the 2 to 4 that the task needs, at most ${schema?.readCap ?? 4} per turn. search finds text in everything and uses no read.`,
    "Do the work.",
    "Save what others need to know: commit_entry replaces a snapshot entry, append_log adds a line to a log entry.",
    ...(hasNext ? ["transfer_focus ends your turn with a summary for the next role."] : []),
  ];
  return [
    `${about} Your role is ${role}.`,
    `You can write: ${someOf(mine.map(({ id, mode }) => `${id} (${mode})`)) || "nothing"}.`,
    ...(hasNext ? [`Pipeline: ${schema?.pipeline.join(" → ")}.`] : []),
    "Work in this order:",
    ...steps.map((step, index) => `${index + 1}. ${step}`),
    "Nothing outside the entries is remembered after this conversation.",
  ].join("\n");
}

const mostNamed = 20;

const someOf = (names: string[]) =>
  names.length <= mostNamed
    ? names.join(", ")
    : `${names.slice(0, mostNamed).join(", ")} and ${names.length - mostNamed} more, marked may_write in list_entries`;

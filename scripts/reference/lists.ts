import { knownVariables, processVariables, userVariables } from "../../src/config/variables.ts";
import { eventKinds } from "../../src/kernel/event-kinds.ts";
import { nounsOfEvent } from "../../src/kernel/noun.ts";
import { code, page, table } from "./markdown.ts";

const variables = (list: Record<string, string>) =>
  table(
    ["variable", "meaning"],
    Object.entries(list).map(([name, text]) => [code(name), text]),
  );

export const environmentPage = () =>
  page(
    "Environment variables",
    "Scriptorium reads these variables when a command starts.",
    variables(userVariables),
    "## Variables of other programs",
    "Scriptorium also reads:",
    variables(knownVariables),
    "`key_env` in `crew.providers` names the variable that holds a provider's key. `agent.env` names further variables that a job's agent gets.",
    "## Set by Scriptorium",
    "Processes that Scriptorium starts have these. Do not set them yourself.",
    variables(processVariables),
  );

export const eventsPage = () =>
  page(
    "Events",
    "Every change appends an event to the log, in the transaction that makes the change. `GET /api/events` streams the log as server-sent events; `Last-Event-ID` or `?after=<id>` continues after an event, and `?after=0` starts at the beginning. An event has `id`, `at`, `actor`, `kind`, `subject` and `data`. Ids are positions 1, 2, 3 … without gaps, the same for every reader; an id that the log has not issued, for example after a restore, is refused with status 400. Each event is chained to the one before by SHA-256, and commits in git carry the head of the chain ([why](../decisions/2026-11-17-event-order.md)).",
    table(
      ["kind", "about", "meaning"],
      Object.entries(eventKinds).map(([kind, text]) => [code(kind), about(kind), text]),
    ),
  );

const about = (kind: string) => {
  const nouns = nounsOfEvent(kind);
  return nouns.length > 3 ? "everything" : nouns.join(", ");
};

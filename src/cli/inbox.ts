import { Command } from "@commander-js/extra-typings";
import { inbox } from "../crew/report/inbox.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, report } from "./session.ts";
import { bold, plural, table, when } from "./text.ts";

export const inboxCommand = (common: () => Common) =>
  new Command("inbox").description(inbox.summary).action(() => report(common(), inbox, {}, listed));

type Waiting = OutputOf<typeof inbox>;

/** Open decisions, each with the command for it. */
function listed({ waiting, proposals, runs, plan_changes, files, gates, settings, topics, recheck }: Waiting): string {
  if (waiting === 0 && topics.length === 0) return "nothing to review";
  const rows = [
    ...topics.map(({ id, reason, opening, at }) => [
      `topic, ${reason}`,
      opening,
      when(at),
      `scriptorium topic show ${id}`,
    ]),
    ...settings.map(({ name, keys }) => ["settings", `${name}: ${keys.join(", ")}`, "", "scriptorium allow"]),
    ...files.map((held) => [
      "held files",
      `task ${held.number}: ${held.files.map(({ path }) => path).join(", ")}`,
      when(held.held_at),
      `scriptorium run allow-files ${held.task}`,
    ]),
    ...gates.map(({ task, number, title, held_at, on_reject }) => [
      on_reject === null ? "approval" : "question",
      `task ${number}: ${title}`,
      when(held_at),
      `scriptorium task approve ${task}`,
    ]),
    ...recheck.map(({ source_path, count, state, cause, since }) => [
      "check again",
      `${source_path}: ${plural(count, "passage")}, ${state}${cause ? `: ${cause}` : ""}`,
      when(since),
      `scriptorium trust show ${source_path}`,
    ]),
    ...plan_changes.map((one) => [
      "plan change",
      `${one.title}, task ${one.tasks.join(", ")}: ${one.reason ?? ""}`,
      when(one.proposed_at ?? ""),
      `scriptorium run replan ${one.run} --confirm ${one.id}`,
    ]),
    ...proposals.map((one) => [
      one.kind === "section" ? "new section" : "rewrite",
      one.subject,
      when(one.created_at),
      `scriptorium proposal show ${one.id}`,
    ]),
    ...runs.flatMap(({ id, state, title, created_at, reason, stalled, questions }) => [
      ...(stalled
        ? [
            [
              "stalled run",
              `${title}: ${reason ?? ""}`,
              when(created_at),
              `scriptorium ${state === "planning" ? "plan --resume" : "run resume"} ${id}`,
            ],
          ]
        : []),
      ...(state === "running" && reason !== null && !stalled
        ? [["waiting run", `${title}: ${reason}`, when(created_at), `scriptorium run show ${id}`]]
        : []),
      ...(state === "stopped"
        ? [["stopped run", `${title}: ${reason ?? ""}`, when(created_at), `scriptorium run resume ${id}`]]
        : []),
      ...(state === "failed"
        ? [["failed run", `${title}: ${reason ?? ""}`, when(created_at), `scriptorium run show ${id}, run close ${id}`]]
        : []),
      ...questions.map((one) => [
        "question",
        `${title}, task ${one.task}: ${one.question}`,
        when(created_at),
        `scriptorium run answer ${one.id} "…"`,
      ]),
    ]),
  ];
  const short = rows.map(([kind = "", what = "", ...rest]) => [
    kind,
    what.length > 70 ? `${what.slice(0, 69)}…` : what,
    ...rest,
  ]);
  return `${bold([plural(waiting, "decision"), ...(topics.length > 0 ? [plural(topics.length, "topic for you", "topics for you")] : [])].join(", "))}\n${table(short)}`;
}

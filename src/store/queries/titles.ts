import type { Query } from "../database.ts";

/** How a thing is called where it is only mentioned, and where it belongs. */
export type Title = { title: string; path: string | null; run: string | null; isOpen: boolean };

const longest = 160;
const cut = (text: string) => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
};

/** The titles of topics, proposals, runs, tasks and questions by subject, such as `topic:t-1`. */
export async function titlesOf(query: Query, subjects: readonly string[]): Promise<Map<string, Title>> {
  const of = (noun: string) => [
    ...new Set(subjects.filter((one) => one.startsWith(`${noun}:`)).map((one) => one.slice(noun.length + 1))),
  ];
  const [topics, proposals, runs, tasks, questions, changes] = await Promise.all([
    topicTitles(query, of("topic")),
    proposalTitles(query, of("proposal")),
    runTitles(query, of("run")),
    taskTitles(query, of("task")),
    questionTitles(query, of("question")),
    planChangeTitles(query, of("plan_change")),
  ]);
  return new Map([...topics, ...proposals, ...runs, ...tasks, ...questions, ...changes]);
}

type Titles = Promise<[string, Title][]>;

async function topicTitles(query: Query, ids: string[]): Titles {
  if (ids.length === 0) return [];
  const rows = await query
    .selectFrom("topics")
    .innerJoin("messages", (join) => join.onRef("messages.topic_id", "=", "topics.id").on("messages.seq", "=", 1))
    .select(["topics.id", "topics.path", "topics.status", "messages.text"])
    .where("topics.id", "in", ids)
    .execute();
  return rows.map(({ id, path, status, text }) => [
    `topic:${id}`,
    { title: cut(text), path, run: null, isOpen: status === "open" },
  ]);
}

async function proposalTitles(query: Query, ids: string[]): Titles {
  if (ids.length === 0) return [];
  const rows = await query
    .selectFrom("proposals")
    .select(["id", "kind", "subject", "status"])
    .where("id", "in", ids)
    .execute();
  return rows.map(({ id, kind, subject, status }) => [
    `proposal:${id}`,
    {
      title: kind === "section" ? `section ${subject}` : subject,
      ...{ path: kind === "section" ? null : subject, run: null, isOpen: status === "open" },
    },
  ]);
}

async function runTitles(query: Query, ids: string[]): Titles {
  if (ids.length === 0) return [];
  const rows = await query.selectFrom("runs").select(["id", "title"]).where("id", "in", ids).execute();
  return rows.map(({ id, title }) => [`run:${id}`, { title: cut(title), path: null, run: id, isOpen: true }]);
}

async function taskTitles(query: Query, ids: string[]): Titles {
  if (ids.length === 0) return [];
  const rows = await query
    .selectFrom("tasks")
    .leftJoin("run_tasks", "run_tasks.task_id", "tasks.id")
    .select(["tasks.id", "tasks.title", "run_tasks.run_id", "run_tasks.number"])
    .where("tasks.id", "in", ids)
    .execute();
  return rows.map(({ id, title, run_id: run, number }) => [
    `task:${id}`,
    { title: cut(number === null ? title : `${number} ${title}`), path: null, run, isOpen: true },
  ]);
}

async function questionTitles(query: Query, ids: string[]): Titles {
  if (ids.length === 0) return [];
  const rows = await query
    .selectFrom("questions")
    .select(["id", "question", "run_id", "answer"])
    .where("id", "in", ids)
    .execute();
  return rows.map(({ id, question, run_id: run, answer }) => [
    `question:${id}`,
    { title: cut(question), path: null, run, isOpen: answer === null },
  ]);
}

async function planChangeTitles(query: Query, ids: string[]): Titles {
  if (ids.length === 0) return [];
  const rows = await query
    .selectFrom("plan_changes")
    .innerJoin("runs", "runs.id", "plan_changes.run_id")
    .select(["plan_changes.id", "plan_changes.run_id", "plan_changes.state", "runs.title"])
    .where("plan_changes.id", "in", ids)
    .execute();
  return rows.map(({ id, run_id: run, state, title }) => [
    `plan_change:${id}`,
    { title: cut(title), path: null, run, isOpen: state === "open" },
  ]);
}

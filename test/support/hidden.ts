import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import type { App } from "../../src/app.ts";
import { type Result, unwrap } from "../../src/kernel/result.ts";
import { operations } from "../../src/operation-list.ts";
import { plannedRun, planOf } from "./plans.ts";
import { agent, newWorkspace, person, sampleSchema } from "./workspace.ts";

/** Bidirectional overrides, invisible characters, tags, a title and a screen for the terminal, and its C1 controls. */
export const payload = "\u202e\u2066\u200b\u{e0041}\u001b]0;owned\u0007\u001b[2J\u001b[8m\u009b31m\u007f\u00ad!";

/**
 * The columns of free text by table: whatever is stored in them by any way is shown to people. Without the texts of
 * passages, with which the word index must agree.
 */
const freeText: Record<string, string[]> = {
  agent_jobs: ["created_by", "error_tail", "message", "persona_name"],
  attempts: ["error_context", "output", "retry_reason", "worker"],
  entries: ["last_author", "title"],
  entry_versions: ["author", "role", "summary"],
  handoffs: ["summary"],
  messages: ["author", "text"],
  nodes: ["created_by", "title"],
  perspectives: ["text"],
  proposal_comments: ["author", "text"],
  proposals: ["base_text", "decided_by", "note", "proposed_by", "text"],
  questions: ["question"],
  run_tasks: ["notes", "requirements", "worker_role"],
  runs: ["created_by", "reason", "request", "title"],
  sources: ["added_by"],
  tasks: ["created_by", "description", "holder", "title"],
  things: ["author"],
  tokens: ["name"],
  topics: ["created_by", "first_quote"],
  users: ["email", "name"],
};

/** A workspace with one thing of every kind, and the payload in every text of it. */
export async function poisonedWorkspace(engine: "sqlite" | "postgres") {
  const spelled = JSON.stringify(` ${payload}`).replaceAll(/[\u007f-\u{10ffff}]/gu, (char) =>
    char.length > 1 ? `\\U${char.codePointAt(0)?.toString(16).padStart(8, "0")}` : `\\u${hex(char)}`,
  );
  const schema = sampleSchema
    .replace("title: Vision", `title: ${spelled.replace('" ', '"Vision ')}`)
    .replace("description: Where we are going.", `description: ${spelled.replace('" ', '"Going ')}`);
  const made = await newWorkspace({
    engine,
    schema,
    config: `personas: [{ name: newcomer, description: ${spelled} }]\n`,
  });
  const { app, root, git } = made;
  const text = `# Kingfisher ${payload}\n\nA passage about kingfishers ${payload} and rivers.\n`;
  const call = async (name: keyof typeof operations, input: object, caller = person()) =>
    unwrap((await operations[name].perform(app, input, caller)) as Result<Record<string, string>>);

  await call("commit_entry", { id: "vision", content: text, version: 1 }, agent("planner"));
  await call("append_log", { id: "decisions", line: "chose this" }, agent("planner"));
  mkdirSync(join(root, "docs"), { recursive: true });
  writeFileSync(join(root, "docs/page.md"), text);
  const { id: topic = "" } = await call("open_topic", {
    source_path: "docs/page.md",
    content: `why ${payload}`,
    kind: "change",
    quote: "A passage about",
  });
  await call("reply_topic", { id: topic, content: `because ${payload}` });
  await call("open_topic", { source_path: "wiki/vision.md", content: "and this", kind: "question" });
  const { source_sha } = await call("get_topic", { id: topic });
  const changed = { topic_id: topic, base_sha: source_sha, content: `${text}More ${payload}\n` };
  const { id: proposal = "" } = await call("insert_proposal", changed);
  await call("comment_proposal", { id: proposal, content: `hm ${payload}` });
  const section = { id: "risks", title: "Risks", mode: "log", writable_by: ["planner"], description: `d ${payload}` };
  await call("create_section", section, agent("planner"));
  await call("add_user", { name: "Eve", rank: "reader", email: "eve@example.org" });
  await call("create_token", { kind: "agent", role: "planner", name: "laptop" });
  await call("memory_add_node", { type: "bird", id: "bird:k", properties: { title: `Kingfisher ${payload}` } });
  const { id: task = "" } = await call("create_todo", { title: "Count kingfishers", description: "all of them" });
  const { run } = await plannedRun(app, planOf([{ number: "0" }, { number: "1.1" }]));
  await app.sources.add("notes.txt", Buffer.from(`kingfisher source ${payload}`), { name: "Mallory" });
  const job = {
    ...{ id: "job1", kind: "incorporate" as const, source_path: "docs/page.md", topic_id: topic, exit_code: 1 },
    ...{ status: "failed" as const, created_by: "Mallory", error_tail: "it broke", message: "it broke", holder: null },
    ...{ created_at: past, started_at: past, completed_at: past },
  };
  await app.db.write(async (tx) => {
    await tx.insertInto("agent_jobs").values(job).execute();
    return undefined;
  });
  while ((await app.search.catchUp()) > 0);
  await app.links.catchUp();
  await poison(app);
  git("config", "user.name", `Mallory ${payload}`.replaceAll(/[\n\r]/g, ""));
  return { ...made, topic, proposal, task, run };
}

async function poison(app: App): Promise<void> {
  await app.db.write(async (tx) => {
    for (const [table, columns] of Object.entries(freeText)) {
      for (const column of columns) {
        const [from, cell] = [sql.table(table), sql.ref(column)];
        await sql`UPDATE ${from} SET ${cell} = ${cell} || ${` ${payload}`} WHERE ${cell} IS NOT NULL`.execute(tx);
      }
    }
    return undefined;
  });
}

const past = "2026-01-02T03:04:05.000Z";

const hex = (char: string) => char.charCodeAt(0).toString(16).padStart(4, "0");

import { type App, openApp } from "../app.ts";
import type { AgentConfig, Config } from "../config/config.ts";
import { exampleAgents, failingRequest, finishedRequest } from "../crew/example.ts";
import { executeRun, startRun } from "../crew/execute-operations.ts";
import { replanRun } from "../crew/plan/change-operations.ts";
import { type Caller, newTurn, type Person } from "../kernel/caller.ts";
import type { Operation } from "../kernel/operation.ts";
import { unwrap } from "../kernel/result.ts";
import { getPersona, putPerspective } from "../review/perspectives/operations.ts";
import { approveProposal, insertProposal, rejectProposal } from "../review/proposals/operations.ts";
import { openTopic, replyTopic, resolveTopic } from "../review/topics/operations.ts";
import { commitEntry, fetchEntry } from "../wiki/operations.ts";
import { readPage } from "../wiki/pages/operations.ts";

/** Everyone in the history is marked, so that nobody takes it for the work of their own colleagues and agents. */
const person = (name: string): Person => ({
  kind: "person",
  name: `${name} (example)`,
  email: `${name.split(" ")[0]?.toLowerCase()}@example.org`,
  rank: "collaborator",
  proof: "session",
});
const [ines, marit, tomasz] = [person("Ines Okafor"), person("Marit Solheim"), person("Tomasz Wilk")];
const agent = (role: string): Caller => ({ kind: "agent", role, turn: newTurn() });
const [architect, writer] = [agent("architect (example)"), agent("writer (example)")];

const dayMs = 24 * 3_600_000;

/**
 * The past week of the example: topics in every state, proposals, a perspective, a finished and a failed run. It is
 * made with the operations that people and agents call, so that it cannot differ from what the product writes; only
 * the clock and the agents of the runs, which follow a script, are the example's own.
 */
export async function writeExampleHistory(config: Config, today: Date): Promise<void> {
  const clock = pastClock(today);
  // The scripted agents run no commands. The setting is for this process only.
  const crew = { ...config.crew, sandbox: "none" as const, reports: "facts" as const };
  // Only the author of commits is needed: no program is started.
  const agent = { author: { name: "Writer (example)", email: "agent@example.org" } } as AgentConfig;
  const app = await openApp({ ...config, crew, agent }, { now: clock.now, host: { agents: exampleAgents() } });
  try {
    clock.set(6, "08:40");
    await answeredQuestion(app);
    clock.set(5, "13:05");
    await finishedRun(app);
    clock.set(4, "09:15");
    await approvedChange(app, clock);
    clock.set(3, "10:30");
    await lostPassage(app);
    clock.set(3, "15:20");
    await rejectedChange(app, clock);
    clock.set(2, "09:50");
    await perspective(app);
    clock.set(2, "11:10");
    await failedRun(app);
    clock.set(1, "08:25");
    await openChange(app);
    clock.set(1, "16:45");
    await openTopicOf(app);
  } finally {
    await app.close();
  }
}

/** A clock that `set` moves to a time of a past day. */
function pastClock(today: Date) {
  let [from, since] = [today.getTime(), Date.now()];
  return {
    now: () => new Date(from + (Date.now() - since)),
    set(daysAgo: number, time: string) {
      const day = new Date(today.getTime() - daysAgo * dayMs).toISOString().slice(0, 10);
      [from, since] = [Date.parse(`${day}T${time}:00Z`), Date.now()];
    },
    minutes(later: number) {
      from += later * 60_000;
    },
  };
}
type Clock = ReturnType<typeof pastClock>;

async function call<A, O>(
  app: A,
  operation: { perform: Operation<A>["perform"] } & { output: { _output: O } },
  input: object,
  caller: Caller,
): Promise<O> {
  return unwrap(await operation.perform(app, input, caller)) as O;
}

async function discuss(app: App, path: string, quote: string, content: string, by: Person, kind = "change") {
  return call(app, openTopic, { source_path: path, quote, content, kind }, by);
}

/** A proposal that replaces words of the topic's page. */
async function propose(app: App, topic: { id: string; source_path: string }, from: string, to: string) {
  const page = await call(app, readPage, { path: topic.source_path }, marit);
  if (!page.content.includes(from)) throw new Error(`${topic.source_path} does not contain: ${from}`);
  const content = page.content.replace(from, () => to);
  return call(app, insertProposal, { topic_id: topic.id, base_sha: page.source_sha, content }, writer);
}

async function answeredQuestion(app: App): Promise<void> {
  const question = "A caller knew the name and the street, not the postcode. May I search by street?";
  const passage = "A name alone is refused on purpose.";
  const topic = await discuss(app, "wiki/services/search.md", passage, question, ines, "question");
  const answer =
    "No: the index has names and postcodes, no streets. Ask for the town and look the postcode up, then search for both. [[decisions]] of 2 October has the reason.";
  await call(app, replyTopic, { id: topic.id, content: answer }, architect);
}

async function approvedChange(app: App, clock: Clock): Promise<void> {
  const passage = "a person looks";
  const words = "Who looks, and where is the list? At night nobody knew that it is theirs to read.";
  const topic = await discuss(app, "wiki/services/notifications.md", passage, words, ines);
  clock.minutes(4);
  const made = await propose(app, topic, passage, "whoever is on call looks (`lark messages --unsure`)");
  clock.minutes(40);
  await call(app, approveProposal, { id: made.id, note: "Checked with the rota." }, marit);
  await call(app, replyTopic, { id: topic.id, content: "On the page now. Thank you." }, marit);
  await call(app, resolveTopic, { id: topic.id }, marit);
}

async function lostPassage(app: App): Promise<void> {
  const passage = "The worst ordinary ten minutes in September had 41.";
  const path = "wiki/services/ingest.md";
  await discuss(app, path, passage, "October had 63 on a Monday. Is 200 still far enough away?", tomasz);
  const { content, version } = await call(app, fetchEntry, { id: "services/ingest" }, marit);
  const shorter = content.replace(/ The worst ordinary ten minutes in September had 41\./, "");
  await call(app, commitEntry, { id: "services/ingest", version, content: shorter }, marit);
}

async function rejectedChange(app: App, clock: Clock): Promise<void> {
  const words = "In the last week of November 400 exceptions are an ordinary morning. The sweep would send nothing.";
  const topic = await discuss(app, "wiki/services/notifications.md", "more than 400 exceptions", words, ines);
  clock.minutes(3);
  const made = await propose(app, topic, "more than 400 exceptions", "more than 1,500 exceptions");
  clock.minutes(55);
  const note = "1,500 would have hidden the Quaywise morning. The limit should follow the number of open parcels.";
  await call(app, rejectProposal, { id: made.id, note }, marit);
}

async function perspective(app: App): Promise<void> {
  const path = "wiki/services/search.md";
  const name = "new in support";
  const { persona_sha, source_sha } = await call(app, getPersona, { source_path: path, name }, writer);
  const content = `# Finding a parcel

Type what the caller reads out: a parcel number, an order reference, or a name **with** a postcode.

| the caller has | type | you see |
|---|---|---|
| a parcel number | \`LF4410923871\`, spaces do not matter | exactly that parcel |
| an order reference | \`BB-20931\` | parcels of that order |
| only a name | ask for the postcode, then \`lindqvist 8000\` | open parcels first |

**Nothing found?** About half of these are numbers of carriers that we do not work with. Say so, and ask the caller for
the mail of the shop.

**More than 20 found?** Ask for the postcode. There is no second page.
`;
  await call(app, putPerspective, { source_path: path, persona: name, source_sha, persona_sha, content }, writer);
}

async function openChange(app: App): Promise<void> {
  const passage = "The lead decides and does not type commands. Someone else does.";
  const words =
    "On 6 October the lead was alone for the first fifteen minutes and did type. Say what to do until a second person is there, and who is called.";
  const topic = await discuss(app, "wiki/runbooks/incident.md", passage, words, tomasz);
  const better = `The lead decides and does not type commands. Someone else does.
- Alone? Call the second on the rota before you type anything: \`lark oncall --second\`.
  Until they answer, only commands that read are safe: \`lark parked\`, \`lark queue\`,
  \`lark replay --dry-run\`.
- \`mail.paused\` is the exception. It loses nothing for four hours, so set it alone.`;
  await propose(app, topic, passage, better);
  const told = "I kept the sentence and added what is safe to do alone. Please check the name of the rota command.";
  await call(app, replyTopic, { id: topic.id, content: told }, writer);
}

async function openTopicOf(app: App): Promise<void> {
  const words =
    "Callers ask this every day. Could search name the carrier from the first two letters, instead of an empty list?";
  await discuss(app, "wiki/services/search.md", "Telling the caller so is a wish of support", words, ines);
}

async function finishedRun(app: App): Promise<void> {
  const { run } = await call(app, startRun, { request: finishedRequest, brief: false }, marit);
  const ended = await call(app, executeRun, { id: run }, marit);
  if (ended.state !== "completed") throw new Error(`the example's run is ${ended.state}: ${ended.reason}`);
}

/** Fails at a fact that is missing; the planner has proposed how to go on. */
async function failedRun(app: App): Promise<void> {
  const { run } = await call(app, startRun, { request: failingRequest, brief: false }, tomasz);
  const ended = await call(app, executeRun, { id: run }, tomasz);
  if (ended.state !== "failed") throw new Error(`the example's run is ${ended.state}`);
  const message = "Nobody has measured it yet. Do not guess a number.";
  await call(app, replanRun, { id: run, tasks: [], message }, tomasz);
}

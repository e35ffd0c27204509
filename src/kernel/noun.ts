/** The kinds of things that operations read and change and that events are about. */
export const nouns = [
  "entry",
  "section",
  "page",
  "source",
  "node",
  "topic",
  "proposal",
  "job",
  "perspective",
  "run",
  "task",
  "attempt",
  "question",
  "user",
  "token",
  "session",
  "passkey",
  "setting",
  "notice",
  "trust",
] as const;
export type Noun = (typeof nouns)[number];

/** The first word of an event's kind (event-kinds.ts) and the nouns whose readers it makes stale. */
const nounsByWord = {
  agent: ["attempt"],
  anchor: ["topic"],
  attempt: ["attempt"],
  checks: ["attempt"],
  edge: ["node"],
  entry: ["entry"],
  files: ["run", "attempt"],
  finding: ["setting"],
  gate: ["run", "task", "attempt"],
  handoff: ["run"],
  index: nouns,
  job: ["job"],
  merge: ["attempt"],
  message: ["topic"],
  node: ["node"],
  output: ["attempt"],
  page: ["page"],
  passage: ["trust"],
  passages: [],
  passkey: ["passkey"],
  perspective: ["perspective"],
  preamble: [],
  proposal: ["proposal"],
  question: ["question"],
  reading: ["notice"],
  report: ["run", "attempt"],
  revision: ["proposal"],
  run: ["run"],
  schema: ["section", "entry", "node"],
  section: ["section", "entry", "page", "topic", "proposal", "perspective", "node"],
  session: ["session"],
  settings: ["setting"],
  source: ["source"],
  spend: ["attempt"],
  steering: ["attempt"],
  task: ["task"],
  token: ["token"],
  topic: ["topic"],
  trust: ["trust"],
  user: ["user"],
  verdict: ["attempt"],
  workers: ["attempt"],
} as const satisfies Record<string, readonly Noun[]>;

export type EventWord = keyof typeof nounsByWord;

const isEventWord = (word: string): word is EventWord => Object.hasOwn(nounsByWord, word);

/** Words of events about access, which only admins see: they say who may sign in and when they do. */
const accessWords: ReadonlySet<string> = new Set<EventWord>(["passkey", "session", "token", "user"]);

export const isAboutAccess = (kind: string): boolean => accessWords.has(kind.split("-", 1)[0] ?? "");

/** Events that only the person who made them gets: they say what somebody has read. */
export const isPrivate = (kind: string): boolean => kind === "reading-marked";

/** The nouns that an event of this kind is about; none for a kind that this version does not know. */
export function nounsOfEvent(kind: string): readonly Noun[] {
  const word = kind.split("-", 1)[0] ?? "";
  return isEventWord(word) ? nounsByWord[word] : [];
}

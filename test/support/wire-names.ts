/** The fields that keep their camelCase on the wire: K4, K7, and the older name of lock_todo's agent_id. */
export const promisedNames: ReadonlySet<string> = new Set([
  "lastAuthor",
  "wordCount",
  "latestContent",
  "latestVersion",
  "agentId",
]);

export const isWireName = (name: string) => promisedNames.has(name) || /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name);

/** A JSON value with the names of the library, at every depth: no user's data is in it. */
export const libraryNames = (value: unknown): unknown =>
  renamed(value, (name) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()));

/** A JSON value with the names of the wire, at every depth: no user's data is in it. */
export const wireNames = (value: unknown): unknown =>
  renamed(value, (name) =>
    promisedNames.has(name) ? name : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename));
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(entries.map(([name, member]) => [rename(name), renamed(member, rename)]));
}

import { createHash } from "node:crypto";

/** A setting of the repository that runs a program, sends data somewhere or weakens a protection. */
export type TrustEntry = {
  /** Where it is set, such as `agent.claude_bin`. */
  key: string;
  value: string;
  /** What it does, as a phrase without a subject: `runs this program for jobs`. */
  why: string;
};

/** Entries that are confirmed together, such as those of one file. */
export type TrustItem = { name: string; entries: readonly TrustEntry[] };

/** An entry that differs from the confirmed one; without `before` it is new, without `after` it was removed. */
export type TrustChange = { key: string; before?: string; after?: string; why?: string };

type Setting = Pick<TrustEntry, "key" | "value">;

/** A hash of keys and values in any order; the wording of `why` may change between versions. */
export const hashOfEntries = (entries: readonly Setting[]): string =>
  createHash("sha256")
    .update(JSON.stringify(entries.map(({ key, value }) => [key, value]).sort(byText)))
    .digest("hex");

const byText = (a: string[], b: string[]) => (a.join("\0") < b.join("\0") ? -1 : 1);

/** The confirmed settings compared with the present ones, removed ones last. */
export function trustChanges(confirmed: readonly Setting[], present: readonly TrustEntry[]): TrustChange[] {
  const before = new Map(confirmed.map(({ key, value }) => [key, value]));
  const now = new Set(present.map(({ key }) => key));
  return [
    ...present
      .filter(({ key, value }) => before.get(key) !== value)
      .map(({ key, value, why }) => {
        const old = before.get(key);
        return { key, ...(old === undefined ? {} : { before: old }), after: value, why };
      }),
    ...confirmed.filter(({ key }) => !now.has(key)).map(({ key, value }) => ({ key, before: value })),
  ];
}

/** For display: the value with the password of an address hidden. */
export const withoutPassword = (value: string) =>
  value.replaceAll(/(?<=:\/\/[^/@\s:]{0,200}:)[^/@\s]{1,500}(?=@)/g, "•••");

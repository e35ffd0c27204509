/**
 * A history checker in the style of Jepsen. Clients log every operation when they send it and when they get the
 * answer; afterwards the checker compares the log with what the database holds.
 *
 *   register   commit_entry: a version has one text
 *   log        append_log: a line occurs once
 *   claims     lock_todo: a task has one holder, and only the holder of the last claim changes it
 */

/** One operation of a client. `mark` occurs in the text that the operation writes and in no other. */
export type Op = {
  client: string;
  kind: "commit" | "append" | "read" | "create" | "claim" | "edit" | "complete" | "release" | "renew";
  /** The entry or the task. */
  key: string;
  mark: string;
  began: number;
  ended?: number;
  /** `refused`: the answer promised that nothing was changed. `unknown`: no answer, or one that promises nothing. */
  outcome: "ok" | "refused" | "unknown";
  /** The version that was acknowledged or read. */
  version?: number;
  /** The claim under which it was sent: the name of its holder, which occurs once. */
  claim?: string;
  epoch?: number;
  leaseMs?: number;
  /** Why it was refused or unknown. */
  why?: string;
};

/** What an operation left in the database, at a position of the event log. */
export type Effect = { key: string; mark: string; position: number; version?: number };
export type ClaimEvent = { key: string; holder: string; position: number };
export type State = { effects: Effect[]; claims: ClaimEvent[] };

type Known = {
  /** Marks that PostgreSQL itself lost in a failover to an asynchronous standby. */
  lostByDatabase?: ReadonlySet<string>;
  /** False when the clock of the database was moved: leases then end early by design. */
  leasesHold?: boolean;
};

export type Verdict = {
  acknowledged: number;
  unknown: number;
  lost: string[];
  doubled: string[];
  late: string[];
  /** Went backwards: a read older than an acknowledged write, or two holders at once. */
  unordered: string[];
};

const writes = new Set<Op["kind"]>(["commit", "append", "create", "edit", "complete"]);

export function check(ops: Op[], state: State, { lostByDatabase = new Set(), leasesHold = true }: Known = {}): Verdict {
  const effects = groupBy(state.effects, ({ mark }) => mark);
  const written = ops.filter(({ kind }) => writes.has(kind));
  const acknowledged = written.filter(({ outcome }) => outcome === "ok");
  const kept = acknowledged.filter(({ mark }) => !lostByDatabase.has(mark));
  return {
    acknowledged: acknowledged.length,
    unknown: written.filter(({ outcome }) => outcome === "unknown").length,
    lost: kept.flatMap((op) => lossOf(op, effects.get(op.mark) ?? [])),
    doubled: [...repeated(effects), ...repeatedVersions(state.effects)],
    late: [...refusedButDone(written, effects), ...underOldClaims(written, state)],
    unordered: [...staleReads(ops, lostByDatabase), ...(leasesHold ? twoHolders(ops) : [])],
  };
}

function lossOf(op: Op, found: Effect[]): string[] {
  if (found.length === 0) return [`${spell(op)} was acknowledged and is missing`];
  const elsewhere = op.version !== undefined && !found.some(({ version }) => version === op.version);
  return elsewhere ? [`${spell(op)} was acknowledged as version ${op.version} and is at ${found[0]?.version}`] : [];
}

const repeated = (effects: Map<string, Effect[]>) =>
  [...effects].flatMap(([mark, found]) =>
    found.length > 1 ? [`${mark} occurs ${found.length} times in ${found[0]?.key}`] : [],
  );

const repeatedVersions = (effects: Effect[]) =>
  [...groupBy(effects, ({ key, version }) => `${key} version ${version}`)].flatMap(([name, found]) =>
    found[0]?.version !== undefined && found.length > 1 ? [`${name} was given ${found.length} times`] : [],
  );

const refusedButDone = (ops: Op[], effects: Map<string, Effect[]>) =>
  ops.flatMap((op) =>
    op.outcome === "refused" && effects.has(op.mark) ? [`${spell(op)} was refused (${op.why}) and took effect`] : [],
  );

/** The effect of an operation comes after another worker's claim on its task. */
function underOldClaims(ops: Op[], { effects, claims }: State): string[] {
  const claimed = groupBy(claims, ({ key }) => key);
  const byMark = new Map(ops.map((op) => [op.mark, op]));
  return effects.flatMap((effect) => {
    const op = byMark.get(effect.mark);
    if (!op?.claim) return [];
    const last = (claimed.get(op.key) ?? [])
      .filter(({ position }) => position < effect.position)
      .sort((a, b) => b.position - a.position)[0];
    return last && last.holder !== op.claim
      ? [`${spell(op)} took effect under the claim of ${op.claim} after ${last.holder} had claimed ${op.key}`]
      : [];
  });
}

/** A read that began after a write was acknowledged returns that version or a newer one. */
function staleReads(ops: Op[], lost: ReadonlySet<string>): string[] {
  const found: string[] = [];
  const known = ops.filter(
    ({ outcome, version, mark }) => outcome === "ok" && version !== undefined && !lost.has(mark),
  );
  for (const [key, ofKey] of groupBy(known, ({ key }) => key)) {
    const ends = ofKey.filter(({ kind }) => kind === "commit").sort((a, b) => (a.ended ?? 0) - (b.ended ?? 0));
    let at = 0;
    let newest: Op | undefined;
    for (const read of ofKey.filter(({ kind }) => kind === "read").sort((a, b) => a.began - b.began)) {
      for (let op = ends[at]; op && (op.ended ?? 0) < read.began; op = ends[++at])
        if ((op.version ?? 0) > (newest?.version ?? 0)) newest = op;
      if (newest && (read.version ?? 0) < (newest.version ?? 0))
        found.push(
          `${read.client} read version ${read.version} of ${key} after ${spell(newest)} became ${newest.version}`,
        );
    }
  }
  return found;
}

/** A claim that was given while the lease of an earlier one was certainly valid. */
function twoHolders(ops: Op[]): string[] {
  const found: string[] = [];
  const given = ops.filter(({ kind, outcome }) => kind === "claim" && outcome === "ok");
  // Whatever ends a claim may have taken effect from the moment it was sent.
  const ends = ops.filter(({ kind }) => kind === "complete" || kind === "release");
  for (const [key, claims] of groupBy(given, ({ key }) => key)) {
    for (const first of claims) {
      const end = Math.min(
        first.began + (first.leaseMs ?? 0),
        ...ends.filter(({ claim }) => claim === first.claim).map(({ began }) => began),
      );
      for (const second of claims)
        if (second.began > (first.ended ?? 0) && (second.ended ?? Number.POSITIVE_INFINITY) < end)
          found.push(`${second.claim} got ${key} while the lease of ${first.claim} was valid`);
    }
  }
  return found;
}

export const violations = ({ lost, doubled, late, unordered }: Verdict): string[] => [
  ...lost,
  ...doubled,
  ...late,
  ...unordered,
];

const spell = ({ client, kind, key, mark }: Op) => `${kind} ${mark} of ${client} to ${key}`;

export function groupBy<T>(items: T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

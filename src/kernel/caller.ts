import { ok, type Result, refuse } from "./result.ts";

/**
 * The run of an agent. For a role of the pipeline the turn itself is in the database; `reads` counts those of the other
 * roles, in one connection.
 */
export type Turn = {
  run: string | undefined;
  /** True when the caller named the run. */
  named: boolean;
  /** True for a connection, which gets a run of its own unless the caller names one; a single command gets none. */
  lasting: boolean;
  reads: Set<string>;
  /** The token of the agent, which tells runs without a name apart; empty for a process without one. */
  owner: string;
};

export type Rank = "reader" | "collaborator" | "admin";

const order: Rank[] = ["reader", "collaborator", "admin"];

/** A token may allow less than its person may do, never more. */
export const lowerRank = (a: Rank, b: Rank): Rank => (order.indexOf(a) < order.indexOf(b) ? a : b);

/** How a person showed that they make a decision themselves: a browser session, a token of theirs, or a typed word. */
type Proof = "session" | "token" | "terminal";

export type Person = {
  kind: "person";
  name: string;
  email?: string;
  rank: Rank;
  proof?: Proof;
  /** The owner of the workspace's folder, who needs no user. */
  isOwner?: true;
  /** The browser session that the person calls from. */
  session?: string;
};
export type Agent = {
  kind: "agent";
  role: string;
  task?: string;
  epoch?: number;
  /** Proves the claim with this epoch; the crew sets it for the agents that it starts. */
  secret?: string;
  /** The job that it was started for, if any. */
  job?: string;
  turn: Turn;
  /** The agent's run, part and name; set by the crew when it starts the agent, never by the agent. */
  crew?: {
    run: string;
    part: CrewPart;
    agent: string;
    context?: string;
    /** The files that a verifier wrote into its scratch copy so far, as a patch; null if there are none. */
    scratch?: () => Promise<string | null>;
  };
};

/** The part of an agent in a run. */
export type CrewPart = "brief" | "pm" | "preamble" | "worker" | "qc" | "reporter";

/** The caller of an operation. An agent is never a user, whatever its input says. */
export type Caller = Person | Agent;

export const newTurn = (run?: string, lasting = false, owner = ""): Turn => ({
  run,
  named: run !== undefined,
  lasting,
  reads: new Set(),
  owner,
});

const idPattern = /^[\w#][\w.:#/@-]{0,127}$/;
const forgesLine = /[\p{Cc}\p{Zl}\p{Zp}\p{Cf}:]/u;

/** Refuses names that would read as something else in a log line, a git trailer or an event. */
export function checkCaller(caller: Caller): Result<true> {
  if (caller.kind === "person") return ok(true);
  const { role, task, turn } = caller;
  if (forgesLine.test(role) || role.length > 200)
    return refuse("invalid", `role: ${JSON.stringify(role.slice(0, 80))} is not a role name`);
  for (const [name, id] of Object.entries({ run: turn.run, task }))
    if (id !== undefined && !idPattern.test(id))
      return refuse(
        "invalid",
        `${name}: ${JSON.stringify(id.slice(0, 80))} is not an id; expected letters, digits and - _ . : / @ #, up to 128 characters`,
      );
  return ok(true);
}

/** The claim that a caller names for a write to a task. A session that is bound to the task overrides the input. */
export function claimFor(
  caller: Caller,
  task: string | undefined,
  said: { epoch?: number | undefined; secret?: string | undefined },
): { epoch?: number | undefined; secret?: string | undefined } {
  if (caller.kind === "person" || caller.task === undefined || caller.task !== task) return said;
  return { epoch: caller.epoch ?? said.epoch, secret: caller.secret ?? said.secret };
}

export const nameOf = (caller: Caller) => (caller.kind === "person" ? caller.name : caller.role);

/** The caller as named in an operation's `callers`. */
export const kindOf = (caller: Caller): Rank | "agent" => (caller.kind === "person" ? caller.rank : "agent");

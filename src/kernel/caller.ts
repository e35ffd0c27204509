/** The state of an agent's turn. One turn belongs to one connection or task token. */
export type Turn = {
  run: string | undefined;
  /** True when the caller named the run: it then outlives the turn. */
  named: boolean;
  /** True for a connection, which has a run even if nobody named one; a single command has none. */
  lasting: boolean;
  reads: Set<string>;
  over: boolean;
};

export type Rank = "reader" | "collaborator" | "admin";

const order: Rank[] = ["reader", "collaborator", "admin"];

/** A token may allow less than its person may do, never more. */
export const lowerRank = (a: Rank, b: Rank): Rank => (order.indexOf(a) < order.indexOf(b) ? a : b);

export type Person = { kind: "person"; name: string; email?: string; rank: Rank };
export type Agent = {
  kind: "agent";
  role: string;
  task?: string;
  epoch?: number;
  /** The job it was started for, if it was. */
  job?: string;
  turn: Turn;
  /** Set by the crew when it starts an agent, never by the agent: which run it works for, as what, and its name. */
  crew?: { run: string; part: CrewPart; agent: string; context?: string };
};

/** The function of an agent in a run; text calls `pm` the planner and `qc` the verifier. */
export type CrewPart = "brief" | "pm" | "preamble" | "worker" | "qc" | "reporter";

/** The caller of an operation. An agent is never a user, whatever its text says. */
export type Caller = Person | Agent;

export const newTurn = (run?: string, lasting = false): Turn => ({
  run,
  named: run !== undefined,
  lasting,
  reads: new Set(),
  over: false,
});

export const nameOf = (caller: Caller) => (caller.kind === "person" ? caller.name : caller.role);

/** Callers in the words of an operation's `callers`. */
export const kindOf = (caller: Caller): Rank | "agent" => (caller.kind === "person" ? caller.rank : "agent");

import { agentOf } from "./plain.ts";
import { Shown } from "./shown.tsx";

/** Who held a task or gave a verdict: a person, or an agent of a process, whose whole name is in the title. */
export function AgentName({ of }: { of: string }) {
  const agent = agentOf(of);
  return (
    <span title={agent === undefined ? undefined : of}>
      <Shown text={agent ?? of} />
    </span>
  );
}

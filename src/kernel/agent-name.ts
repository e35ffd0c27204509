/**
 * The parts of the name of a crew's agent, `host:pid:start:machine/number/part`, or of the process that started it.
 * Older names have no machine. Undefined for other names, such as those of people.
 */
export function partsOfAgentName(name: string): { process: string; host: string; part?: "worker" | "qc" } | undefined {
  const found = /^(?<process>(?<host>[^:/]+):\d+:\d+(?::[^:/]*)?)(?:\/\d+(?:\/(?<part>worker|qc))?)?$/.exec(
    name,
  )?.groups;
  if (!found) return undefined;
  const { process = "", host = "", part } = found;
  return { process, host, ...(part ? { part: part as "worker" | "qc" } : {}) };
}

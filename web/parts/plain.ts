import { partsOfAgentName } from "../../src/kernel/agent-name.ts";

/** `[[id|words]]` or `[words](address)`: the words. */
const link = /\[\[(?:[^\]|]*\|)?([^\]]*)\]\]|\[([^\]]*)\]\([^)]*\)/g;

/** Words out of the middle of a markdown text, without its signs. Marks around what was found stay. */
export const withoutSigns = (text: string): string =>
  text
    .replace(link, "$1$2")
    // The line below the head of a table, then the bars between its cells.
    .replace(/\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{2,}:?)?/g, "|")
    .replace(/(?:\s*\|)+\s*/g, " · ")
    .replace(/`+|[*~]{2,}/g, "")
    .replace(/(?<![\w*_])([*_])(\S(?:[^*_]*\S)?)\1(?![\w*_])/g, "$2")
    .replace(/\s+/g, " ")
    .replace(/^(…?) · /, "$1")
    .replace(/ · (…?)$/, "$1")
    .trim();

/** The beginning of a markdown text as one line, without its signs. */
export function firstWords(text: string, most: number): string {
  const line = withoutSigns(text.replace(/^\s*(?:[-*+>#]+|\d+[.)])\s+/gm, ""));
  return line.length > most ? `${line.slice(0, most).replace(/\s\S*$/, "")}…` : line;
}

/** A sentence of the record without the commands that it names: the page has buttons for them. */
export const withoutCommands = (text: string): string =>
  text.replace(/(?: with)?: scriptorium [^;]*(?:; scriptorium [^;]*)*/g, "");

/** An agent that a process of a crew started, in words; undefined for other names. */
export function agentOf(name: string): string | undefined {
  const agent = partsOfAgentName(name);
  if (!agent || agent.process === name) return undefined;
  return `${agent.part === "qc" ? "a verifier" : agent.part === "worker" ? "a worker" : "the crew"} on ${agent.host}`;
}

import type { Json, Properties } from "./node.ts";

/** Maximum size of an answer: about 1,500 tokens, small beside an agent's context. */
export const answerBytes = 6000;

/** Maximum size of one node's properties, so that the node fits into an answer with its id, type and title. */
export const propertiesBytes = 4400;

/** With the comma behind it. */
export const weightOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value)) + 1;

/** The first items that weigh no more than `bytes` together. */
export function fitting<T>(items: T[], bytes: number): T[] {
  let left = bytes;
  const end = items.findIndex((item) => {
    left -= weightOf(item);
    return left < 0;
  });
  return end < 0 ? items : items.slice(0, end);
}

/** A property of which only a part was given, and where to read on. */
export type Cut = { property: string; characters: number; next: number };

export type Chosen = { properties: Properties; cut?: Cut[]; omitted?: number };

type Choice = { fields: string[]; bytes?: number; offset?: number };

/**
 * The properties that `fields` names. A value that is too heavy is given as the beginning of its
 * text (JSON, if it is no text), or from `offset` on; what finds no place at all is counted.
 */
export function choose(all: Properties, { fields, bytes = propertiesBytes, offset = 0 }: Choice): Chosen {
  const names = fields.includes("*")
    ? Object.keys(all)
    : [...new Set(fields)].filter((name) => Object.hasOwn(all, name));
  const given: [string, Json][] = [];
  const cut: Cut[] = [];
  let left = bytes;
  let omitted = 0;
  for (const name of names) {
    const value = all[name] as Json;
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const whole = offset === 0 ? value : text.slice(offset);
    const weight = weightOf(name) + weightOf(whole);
    if (weight <= left) {
      given.push([name, whole]);
      left -= weight;
      continue;
    }
    const note = { property: name, characters: text.length, next: text.length };
    const part = beginning(text.slice(offset), left - weightOf(name) - weightOf(note) - 2);
    if (part === "") {
      omitted++;
      continue;
    }
    given.push([name, part]);
    cut.push({ ...note, next: offset + part.length });
    left -= weightOf(name) + weightOf(note) + weightOf(part);
  }
  return {
    properties: Object.fromEntries(given),
    ...(cut.length > 0 ? { cut } : {}),
    ...(omitted > 0 ? { omitted } : {}),
  };
}

/** As many whole characters of the text as weigh no more than `bytes` in JSON. */
function beginning(text: string, bytes: number): string {
  let left = bytes;
  let end = 0;
  for (const character of text.slice(0, Math.max(0, bytes))) {
    left -= Buffer.byteLength(JSON.stringify(character)) - 2;
    if (left < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}

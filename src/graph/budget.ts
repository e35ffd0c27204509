import type { Json, Properties } from "./node.ts";

/** The maximum size of a response in bytes, about 1,500 tokens. */
export const answerBytes = 6000;

/** The maximum size of a node's properties, so that they fit into a response with id, type and title. */
export const propertiesBytes = 4400;

/** The size as JSON, with a comma. */
export const weightOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value)) + 1;

/** The first items whose total size is at most `bytes`. */
export function fitting<T>(items: T[], bytes: number): T[] {
  let left = bytes;
  const end = items.findIndex((item) => {
    left -= weightOf(item);
    return left < 0;
  });
  return end < 0 ? items : items.slice(0, end);
}

/** A truncated property, and the offset at which to continue. */
export type Cut = { property: string; characters: number; next: number };

export type Chosen = { properties: Properties; cut?: Cut[]; omitted?: number };

type Choice = { fields: string[]; bytes?: number; offset?: number };

/**
 * The properties that `fields` names. A value that is too large is truncated, starting at `offset` (as JSON
 * unless it is a text); properties that do not fit at all are counted.
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

/** The longest prefix of whole characters whose JSON has at most `bytes`. */
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

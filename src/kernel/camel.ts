import * as z from "zod";

/** The library's names for what operations take and give: the wire's fields in camelCase. */

type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** Declared fields in camelCase, at every depth. Users' own keys and values (index signatures, any JSON) stay. */
export type CamelKeys<T> = [JsonValue] extends [T] ? T : RenamedKeys<T>;

type RenamedKeys<T> = T extends readonly (infer Item)[]
  ? CamelKeys<Item>[]
  : T extends object
    ? { [K in keyof T as K extends string ? (string extends K ? K : CamelCase<K>) : K]: CamelKeys<T[K]> }
    : T;

const camelCase = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** Renames the keys of one object, not of what is in it. */
export const camelKeys = (value: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([key, member]) => [camelCase(key), member]));

/** A wire value of `type` with the library's names. */
export const fromWire = <T>(type: z.ZodType, value: T): CamelKeys<T> => renamed(type, value, "output") as CamelKeys<T>;

/** A library value with the names that `type` declares. It may be wrong: the operation checks it. */
export const toWire = (type: z.ZodType, value: unknown): unknown => renamed(type, value, "input");

type Direction = "input" | "output";

/** Only what the schema declares is renamed: keys of records and values it does not describe stay as they are. */
function renamed(type: z.core.$ZodType, value: unknown, direction: Direction): unknown {
  if (value === null || typeof value !== "object") return value;
  if (type instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item) => renamed(type.element, item, direction));
  }
  if (type instanceof z.ZodObject) return renamedObject(type, value, direction);
  if (type instanceof z.ZodRecord) {
    const entries = Object.entries(value).map(([key, member]) => [key, renamed(type.valueType, member, direction)]);
    return Object.fromEntries(entries);
  }
  if (type instanceof z.ZodUnion) return renamedUnion(type.options, value, direction);
  if (type instanceof z.ZodPipe) return renamed(direction === "input" ? type.in : type.out, value, direction);
  const inner = innerType(type);
  return inner ? renamed(inner, value, direction) : value;
}

function renamedObject(type: z.ZodObject, value: object, direction: Direction): unknown {
  const fields = new Map(
    Object.entries(type.shape).flatMap(([name, field]) => {
      const [from, to] = direction === "input" ? [camelCase(name), name] : [name, camelCase(name)];
      return [[from, { to, field }] as const];
    }),
  );
  const entries = Object.entries(value).map(([key, member]) => {
    const known = fields.get(key);
    return known ? [known.to, renamed(known.field, member, direction)] : [key, member];
  });
  return Object.fromEntries(entries);
}

/** The first alternative that the value fits, by the wire's names. */
function renamedUnion(options: readonly z.core.$ZodType[], value: object, direction: Direction): unknown {
  for (const option of options) {
    const result = renamed(option, value, direction);
    if (z.safeParse(option, direction === "input" ? result : value).success) return result;
  }
  return value;
}

/** The type inside an optional, nullable, default or read-only one. */
export function innerType(type: z.core.$ZodType): z.core.$ZodType | undefined {
  const isWrapper =
    type instanceof z.ZodOptional ||
    type instanceof z.ZodNullable ||
    type instanceof z.ZodDefault ||
    type instanceof z.ZodPrefault ||
    type instanceof z.ZodReadonly;
  return isWrapper ? type.unwrap() : undefined;
}

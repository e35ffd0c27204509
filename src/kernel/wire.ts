/** Names on the wire are snake_case, names in TypeScript camelCase; see "On the wire" in GLOSSARY.md. */

type SnakeCase<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : S;

export type SnakeKeys<T> = { [K in keyof T as K extends string ? SnakeCase<K> : K]: T[K] };

/** Data on its way to the wire: the compiler refuses a literal with a camelCase key. */
export type WireData = { [name: Lowercase<string>]: unknown };

/** Renames the keys of one object. Shallow, so that data of users inside it keeps its own keys. */
export const snakeKeys = <T extends object>(value: T): SnakeKeys<T> =>
  Object.fromEntries(Object.entries(value).map(([key, member]) => [snakeCase(key), member])) as SnakeKeys<T>;

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

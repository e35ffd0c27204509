import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { isInside, realPath } from "./folders.ts";
import type { TrustEntry } from "./item.ts";
import { keyTrust, type SensitiveKey, type TrustArea } from "./keys.ts";

export type SensitiveSetting = TrustEntry & { area: TrustArea };

type Found = { path: string[]; value: unknown };

/**
 * The sensitive settings of a configuration, apart from those that `isOwn` says the person set in their own file.
 * A program of the repository counts with its content: a later commit may replace it under the same name.
 */
export function sensitiveSettings(
  config: unknown,
  root: string,
  isOwn: (path: readonly string[]) => boolean = () => false,
): SensitiveSetting[] {
  return Object.entries(keyTrust).flatMap(([pattern, rule]) =>
    rule === "plain"
      ? []
      : valuesAt(config, pattern.split("."))
          .filter(({ path, value }) => !isSafe(rule, value) && !isOwn(path))
          .flatMap(({ path, value }) => settingsOf(path.join("."), value, rule, root)),
  );
}

/** The values at a key path; `<name>` stands for every key of a map. */
function valuesAt(value: unknown, [head, ...rest]: string[], path: string[] = []): Found[] {
  if (head === undefined) return [{ path, value }];
  if (value === null || typeof value !== "object") return [];
  const names = head === "<name>" ? Object.keys(value) : Object.hasOwn(value, head) ? [head] : [];
  return names.flatMap((name) => valuesAt((value as Record<string, unknown>)[name], rest, [...path, name]));
}

const isSafe = ({ safe = [] }: SensitiveKey, value: unknown) =>
  value === undefined || safe.includes(value) || (Array.isArray(value) && value.length === 0);

function settingsOf(key: string, value: unknown, { why, area, runs }: SensitiveKey, root: string): SensitiveSetting[] {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const words = runs ? [value].flat().map(String) : [];
  return [
    { key, value: text, why, area },
    ...words.flatMap((word) => {
      const content = contentInside(root, word);
      return content === undefined
        ? []
        : [{ key: `${key} ${word}`, value: `sha256 ${content}`, why: "is a file of the repository", area }];
    }),
  ];
}

/** The hash of a file of the workspace; undefined for anything else. */
function contentInside(root: string, word: string): string | undefined {
  const file = realPath(resolve(root, word));
  if (!isInside(file, realPath(root)) || relative(root, file) === "") return undefined;
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return undefined;
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

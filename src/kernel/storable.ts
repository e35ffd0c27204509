/** Text of a program as both engines can store it: NUL, which PostgreSQL refuses, becomes U+FFFD. */
export const storable = (text: string): string => text.replaceAll("\0", "\ufffd");

/** The path of the first string in a value that contains NUL. */
export function nulIn(value: unknown, path: readonly string[] = []): string | undefined {
  if (typeof value === "string") return value.includes("\0") ? path.join(".") : undefined;
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return undefined;
  for (const [name, part] of Object.entries(value)) {
    const found = nulIn(part, [...path, name.replaceAll("\0", "\\0")]) ?? nulIn(name, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

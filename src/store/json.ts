/**
 * Parses a JSON column; the only way to read one. A damaged row yields `otherwise` instead of failing the
 * list it is part of or the loop that meets it again and again (T29). `doctor` names damaged rows.
 */
export function parseJsonOr<T>(text: string, otherwise: T): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    return otherwise;
  }
}

/**
 * What a row keeps as JSON. Damaged, it is taken for `otherwise`: one row must not take with it the list
 * that it stands in, or the loop that comes upon it again and again (T29). `doctor` tells which it is.
 */
export function kept<T>(text: string, otherwise: T): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    return otherwise;
  }
}

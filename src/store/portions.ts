/** As many rows as a statement can take values for on either engine. */
const rowsAtOnce = 200;

export function* portions<T>(items: T[]): Generator<T[]> {
  for (let from = 0; from < items.length; from += rowsAtOnce) yield items.slice(from, from + rowsAtOnce);
}

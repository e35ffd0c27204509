/** As many rows as a statement can take values for on either engine. */
const rowsAtOnce = 200;

export function* portions<T>(items: T[], size = rowsAtOnce): Generator<T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

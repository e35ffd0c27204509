/** The number of rows whose values fit into one statement on either engine. */
export const batchSize = 200;

export function* batches<T>(items: T[], size = batchSize): Generator<T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

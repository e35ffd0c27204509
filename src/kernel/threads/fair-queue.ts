/** Whose turn it is: clients take turns, then the requests of a client, then the items of a request in order. */
export type Lane = { client: string; request: object };

/** A queue in which a client with many requests, or a request with many items, delays others by one item. */
export function fairQueue<T extends Lane>() {
  const clients = new Map<string, Map<object, T[]>>();
  let size = 0;

  function take(client: string, requests: Map<object, T[]>): T | undefined {
    for (const [request, items] of requests) {
      const item = items.shift();
      requests.delete(request);
      // Maps keep the order of insertion: inserted again, it is last.
      if (items.length > 0) requests.set(request, items);
      clients.delete(client);
      if (requests.size > 0) clients.set(client, requests);
      size--;
      return item;
    }
    return undefined;
  }

  return {
    get size() {
      return size;
    },
    add(item: T): void {
      const requests = clients.get(item.client) ?? new Map<object, T[]>();
      const items = requests.get(item.request) ?? [];
      items.push(item);
      requests.set(item.request, items);
      clients.set(item.client, requests);
      size++;
    },
    /** The next item of a client that may run one. */
    next(mayRun: (client: string) => boolean): T | undefined {
      for (const [client, requests] of clients) if (mayRun(client)) return take(client, requests);
      return undefined;
    },
    remove(item: T): void {
      const requests = clients.get(item.client);
      const items = requests?.get(item.request);
      const at = items?.indexOf(item) ?? -1;
      if (!requests || !items || at < 0) return;
      items.splice(at, 1);
      size--;
      if (items.length === 0) requests.delete(item.request);
      if (requests.size === 0) clients.delete(item.client);
    },
  };
}

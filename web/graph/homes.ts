/** The address of a node that stands for an entry, page, task or other thing with a page of its own. */
export function homeOf(id: string): string | undefined {
  const colon = id.indexOf(":");
  const rest = id.slice(colon + 1);
  switch (id.slice(0, Math.max(0, colon))) {
    case "entry":
      return `/entries/${rest}`;
    case "page":
      return `/pages/${rest}`;
    case "task":
      return `/tasks/${rest}`;
    case "run":
      return `/runs/${rest}`;
    case "topic":
      return `/topics/${rest}`;
    case "proposal":
      return `/proposals/${rest}`;
    case "source":
      return `/source/${rest}`;
    default:
      return undefined;
  }
}

/** Where a search result is read: its own page, or for a node of the graph the graph around it. */
export function linkToHit({ type, id }: { type: string; id: string }) {
  const home = homeOf(`${type}:${id}`);
  return home ? { to: home } : { to: "/graph", search: { node: id } as never };
}

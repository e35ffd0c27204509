/** The page's path in the workspace for an address of the application. */
export function pathOf(address: string, wiki: string): string {
  const [, area, ...parts] = address.split("/");
  const rest = parts.map(decodeURIComponent).join("/");
  return area === "entries" ? `${wiki}/${rest}.md` : rest;
}

/** The address of a page by its path in the workspace. */
export function addressOf(path: string, wiki: string): string {
  const isEntry = path.startsWith(`${wiki}/`) && path.endsWith(".md");
  return isEntry ? `/entries/${path.slice(wiki.length + 1, -3)}` : `/pages/${path}`;
}

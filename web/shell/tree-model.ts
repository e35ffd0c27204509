/** The tree of pages as plain values: built once for a catalogue, flattened for what is open. */
export type Leaf = { key: string; title: string; mode: "snapshot" | "log" | "page"; to: string };
type Folder = { name: string; key: string; folders: Map<string, Folder>; leaves: Leaf[] };
export type Tree = { root: Folder; size: number };

export type Row =
  | { kind: "folder"; key: string; name: string; depth: number; isOpen: boolean }
  | { kind: "leaf"; key: string; depth: number; leaf: Leaf };

const folder = (name: string, key: string): Folder => ({ name, key, folders: new Map(), leaves: [] });

/** Entries by their ids; other pages under a folder of their own, since their keys begin with a slash. */
export function buildTree(leaves: Leaf[]): Tree {
  const root = folder("", "");
  for (const leaf of leaves) {
    const parts = leaf.key.startsWith("/") ? ["Other pages", ...leaf.key.slice(1).split("/")] : leaf.key.split("/");
    let at = root;
    for (const [depth, name] of parts.slice(0, -1).entries()) {
      const key = leaf.key.startsWith("/")
        ? `/${parts.slice(1, depth + 1).join("/")}`
        : parts.slice(0, depth + 1).join("/");
      const next = at.folders.get(name) ?? folder(name, key);
      at.folders.set(name, next);
      at = next;
    }
    at.leaves.push(leaf);
  }
  return { root, size: leaves.length };
}

export function flatten({ root }: Tree, isOpen: (key: string, depth: number) => boolean): Row[] {
  const rows: Row[] = [];
  const add = (at: Folder, depth: number) => {
    for (const leaf of at.leaves) rows.push({ kind: "leaf", key: leaf.key, depth, leaf });
    for (const inner of [...at.folders.values()].sort(byName)) {
      const open = isOpen(inner.key, depth);
      rows.push({ kind: "folder", key: inner.key, name: inner.name, depth, isOpen: open });
      if (open) add(inner, depth + 1);
    }
  };
  add(root, 0);
  return rows;
}

const byName = (a: Folder, b: Folder) =>
  Number(a.key.startsWith("/")) - Number(b.key.startsWith("/")) || (a.name < b.name ? -1 : 1);

/** The folders around the page that is shown. */
export function ancestorsOf(address: string): string[] {
  const [, area, ...parts] = address.split("/");
  if (area !== "entries" && area !== "pages") return [];
  const lead = area === "pages" ? "/" : "";
  const inner = parts.slice(0, -1).map((_, depth) => lead + parts.slice(0, depth + 1).join("/"));
  return area === "pages" ? ["/", ...inner] : inner;
}

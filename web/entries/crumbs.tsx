import { Link } from "@tanstack/react-router";
import { boot } from "../boot.ts";
import { Shown } from "../parts/shown.tsx";

/** The folders above a page. */
export function Crumbs({ path }: { path: string }) {
  const isEntry = path.startsWith(`${boot.workspace.wiki}/`);
  const parts = (isEntry ? path.slice(boot.workspace.wiki.length + 1).replace(/\.md$/, "") : path).split("/");
  return (
    <nav className="crumbs" aria-label="Breadcrumbs">
      <ol>
        <li>
          <Link to="/">Wiki</Link>
        </li>
        {parts.map((part, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a folder may be called like the one above it
          <li key={at} aria-current={at === parts.length - 1 ? "page" : undefined}>
            <Shown text={part} />
          </li>
        ))}
      </ol>
    </nav>
  );
}

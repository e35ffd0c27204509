/** The pages people read in a browser: plain HTML made on the server, without any script. */
import { html, raw } from "hono/html";
import { spellHidden, splitHidden } from "../hidden.ts";

export type PageEntry = {
  id: string;
  title: string;
  mode: "snapshot" | "log";
  version: number;
  lastAuthor: string;
  wordCount: number;
  summary?: string;
  writableBy: string[];
  updatedAt: string;
};

type Html = ReturnType<typeof html>;
type Place = { workspace: string; person: string };
type Hit = { id: string; title: string; snippet: string };
type Change = { version: number; author: string; role: string | null; at: string; summary: string | null };
type Source = { path: string; sha256: string; size: number; addedBy: string; at: string };

export function cataloguePage(page: Place & { entries: PageEntry[]; query?: string; hits?: Hit[] }): Html {
  const searched = page.query !== undefined && page.query !== "";
  return layout({
    ...page,
    title: searched ? `Search: ${page.query}` : "Catalogue",
    current: "/",
    body: html`<div class="column">
      <div class="page-head">
        <h1>${searched ? "Search" : "Catalogue"}</h1>
        ${searched ? "" : html`<p class="lead">${countOf(page.entries.length, "entry", "entries")} in this workspace</p>`}
      </div>
      ${searchForm(page.query ?? "")}
      ${searched ? hitList(page.query ?? "", page.hits ?? []) : folderList(page.entries)}
    </div>`,
  });
}

export function entryPage(
  page: Place & { entry: PageEntry & { content: string }; html: string; history: Change[] },
): Html {
  const { entry } = page;
  const history = [...page.history].sort((a, b) => b.version - a.version);
  const latest = Math.max(entry.version, history[0]?.version ?? 0);
  return layout({
    ...page,
    title: entry.title,
    current: "",
    body: html`<div class="with-side">
      <article>
        ${breadcrumbs(entry.id)}
        <h1 class="entry-title">${shown(entry.title)}</h1>
        ${entryFacts(entry)}
        ${entry.version < latest ? olderNotice(entry, latest) : ""}
        <div class="prose">${body(page.html, entry)}</div>
      </article>
      <aside aria-labelledby="versions">
        <h2 id="versions">Versions</h2>
        ${versionList(entry, history, latest)}
        <h2>Who may write</h2>
        ${writers(entry.writableBy)}
      </aside>
    </div>`,
  });
}

export function sourcesPage(page: Place & { sources: Source[] }): Html {
  const total = page.sources.reduce((sum, source) => sum + source.size, 0);
  return layout({
    ...page,
    title: "Sources",
    current: "/sources",
    body: html`<div class="column">
      <div class="page-head">
        <h1>Sources</h1>
        <p class="lead">Raw material, kept as it came. ${countOf(page.sources.length, "file", "files")}, ${bytes(total)}.</p>
      </div>
      ${page.sources.length === 0 ? noSources() : sourceTable(page.sources)}
    </div>`,
  });
}

type Message = Partial<Place> & { title: string; message: string; hint?: string; again?: string };

/** One thing to say. With `again` the browser asks for that address once more by itself. */
export function messagePage(page: Message): Html {
  return layout({
    ...page,
    current: "",
    body: html`<div class="message">
      <h1>${shown(page.title)}</h1>
      <p>${shown(page.message)}</p>
      ${page.hint ? html`<p class="hint">${shown(page.hint)}</p>` : ""}
      ${page.workspace === undefined ? "" : html`<p><a href="/">Show the whole catalogue</a></p>`}
    </div>`,
  });
}

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%23a8622d' d='M3 1h9a2 2 0 0 1 2 2v12H4a2 2 0 0 1-2-2V2z'/%3E%3Cpath fill='none' stroke='%23fff' d='M5 5h6M5 8h6M5 11h4'/%3E%3C/svg%3E";

type Layout = Partial<Place> & { title: string; current: string; body: Html; again?: string };

// Links to other sites are shown, and a browser may look their names up before anyone clicks. A name
// such as `secret.example.test` would tell its owner what is on the page: hence the prefetch control.
function layout(page: Layout): Html {
  const title = spellHidden(page.workspace ? `${page.title} · ${page.workspace}` : page.title);
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="x-dns-prefetch-control" content="off">
    <meta name="referrer" content="no-referrer">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    ${page.again === undefined ? "" : html`<meta http-equiv="refresh" content="0; url=${page.again}">`}
    <title>${title}</title>
    <link rel="icon" href="${icon}">
    <link rel="stylesheet" href="/style.css">
  </head>
  <body>
    <a class="skip" href="#main">Skip to content</a>
    <header class="site">
      <div class="site-inner">
        ${page.workspace === undefined ? html`<span class="brand">Scriptorium</span>` : siteHead(page.workspace, page)}
      </div>
    </header>
    <main id="main" tabindex="-1">${page.body}</main>
  </body>
</html>`;
}

function siteHead(workspace: string, page: Layout): Html {
  return html`<a class="brand" href="/">${shown(workspace)}</a>
    <nav aria-label="Main">
      ${navLink("/", "Catalogue", page.current)}
      ${navLink("/sources", "Sources", page.current)}
    </nav>
    <span class="person"><span class="sr-only">Signed in as </span>${shown(page.person ?? "")}</span>`;
}

function navLink(href: string, label: string, current: string): Html {
  return href === current
    ? html`<a href="${href}" aria-current="page">${label}</a>`
    : html`<a href="${href}">${label}</a>`;
}

function searchForm(query: string): Html {
  return html`<form class="search" role="search" action="/" method="get">
    <label class="sr-only" for="q">Search entries</label>
    <input id="q" name="q" type="search" value="${query}" placeholder="Search entries" autocomplete="off">
    <button type="submit">Search</button>
  </form>`;
}

function hitList(query: string, hits: Hit[]): Html {
  const everything = html`<p class="after"><a href="/">Show the whole catalogue</a></p>`;
  if (hits.length === 0) {
    return html`<div class="empty" role="status">
      <h2>Nothing found</h2>
      <p>No entry matches <q>${shown(query)}</q>. Fewer or other words may help.</p>
      ${everything}
    </div>`;
  }
  return html`<p class="result-count" role="status">${countOf(hits.length, "entry matches", "entries match")} <q>${shown(query)}</q></p>
    <ol class="entries hits">
      ${hits.map(
        (hit) => html`<li>
          <h2><a href="${entryHref(hit.id)}">${shown(hit.title)}</a></h2>
          <p class="id">${shown(hit.id)}</p>
          <p class="summary">${marked(hit.snippet)}</p>
        </li>`,
      )}
    </ol>
    ${everything}`;
}

function folderList(entries: PageEntry[]): Html {
  if (entries.length === 0) {
    return html`<div class="empty">
      <h2>No entries yet</h2>
      <p>Entries appear here as soon as a person or an agent writes one.</p>
    </div>`;
  }
  return html`${byFolder(entries).map(
    ([folder, members]) => html`<section class="folder">
      ${folder === "" ? "" : html`<h2 class="folder-name">${folder.split("/").map((part, at) => html`${at > 0 ? html`<span class="slash">/</span>` : ""}${shown(part)}`)}</h2>`}
      <ul class="entries">${members.map((entry) => entryRow(entry, folder === "" ? 2 : 3))}</ul>
    </section>`,
  )}`;
}

/** Entries at the top first, then folder by folder, both in alphabetical order. */
function byFolder(entries: PageEntry[]): [string, PageEntry[]][] {
  const folders = new Map<string, PageEntry[]>();
  for (const entry of [...entries].sort((a, b) => compare(a.id, b.id))) {
    const folder = entry.id.slice(0, Math.max(0, entry.id.lastIndexOf("/")));
    folders.set(folder, [...(folders.get(folder) ?? []), entry]);
  }
  return [...folders].sort(([a], [b]) => compare(a, b));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function entryRow(entry: PageEntry, level: 2 | 3): Html {
  const link = html`<a href="${entryHref(entry.id)}">${shown(entry.title)}</a>`;
  return html`<li>
    ${level === 2 ? html`<h2>${link}</h2>` : html`<h3>${link}</h3>`}
    ${entry.summary ? html`<p class="summary">${shown(entry.summary)}</p>` : ""}
    ${entryFacts(entry)}
  </li>`;
}

function entryFacts(entry: PageEntry): Html {
  return html`<p class="facts">
    <span class="mode mode-${entry.mode}">${entry.mode}</span>
    <span>version ${entry.version}</span>
    <span>${countOf(entry.wordCount, "word", "words")}</span>
    <span>${shown(entry.lastAuthor)}, ${time(entry.updatedAt)}</span>
  </p>`;
}

function breadcrumbs(id: string): Html {
  const parts = id.split("/");
  return html`<nav class="crumbs" aria-label="Breadcrumbs">
    <ol>
      <li><a href="/">Catalogue</a></li>
      ${parts.map((part, at) =>
        at < parts.length - 1 ? html`<li>${shown(part)}</li>` : html`<li aria-current="page">${shown(part)}</li>`,
      )}
    </ol>
  </nav>`;
}

function olderNotice(entry: PageEntry, latest: number): Html {
  return html`<p class="note">You are reading version ${entry.version}.
    <a href="${entryHref(entry.id)}">Read the latest, version ${latest}</a></p>`;
}

/** Most entries begin with their title as a heading; the page already shows it. */
function body(rendered: string, entry: { title: string; content: string }): Html {
  if (rendered.trim() === "") return html`<p class="empty-text">This entry is empty.</p>`;
  const heading = /^<h1[^>]*>[^<]*<\/h1>\n?/.exec(rendered);
  const firstLine = entry.content.trimStart().split("\n", 1)[0] ?? "";
  const repeats = heading && firstLine.replace(/^# +/, "").trim() === entry.title;
  return html`${raw(repeats ? rendered.slice(heading[0].length) : rendered)}`;
}

const versionsShown = 8;

function versionList(entry: PageEntry, history: Change[], latest: number): Html {
  if (history.length === 0) return html`<p class="empty-text">No history is recorded.</p>`;
  const row = (change: Change) => versionRow(entry, change, latest);
  const earlier = history.slice(versionsShown);
  return html`<ol class="versions">${history.slice(0, versionsShown).map(row)}</ol>
    ${
      earlier.length === 0
        ? ""
        : html`<details><summary>${countOf(earlier.length, "earlier version", "earlier versions")}</summary>
          <ol class="versions">${earlier.map(row)}</ol></details>`
    }`;
}

function versionRow(entry: PageEntry, change: Change, latest: number): Html {
  const href = `${entryHref(entry.id)}?version=${change.version}`;
  const label = html`Version ${change.version}`;
  return html`<li>
    ${change.version === entry.version ? html`<a href="${href}" aria-current="true">${label}</a>` : html`<a href="${href}">${label}</a>`}
    ${change.version === latest ? html`<span class="tag">latest</span>` : ""}
    ${change.summary ? html`<p class="change">${shown(change.summary)}</p>` : ""}
    <p class="by">${shown(change.author)}${change.role === null ? "" : html` as ${shown(change.role)}`}, ${time(change.at)}</p>
  </li>`;
}

function writers(roles: string[]): Html {
  return roles.length === 0
    ? html`<p class="empty-text">Only a person, by approving a proposal.</p>`
    : html`<ul class="roles">${roles.map((role) => html`<li>${shown(role)}</li>`)}</ul>`;
}

function noSources(): Html {
  return html`<div class="empty">
    <h2>No sources yet</h2>
    <p>Add one with <code>scriptorium source add FILE</code>. It is stored once and never changed.</p>
  </div>`;
}

function sourceTable(sources: Source[]): Html {
  return html`<div class="table-scroll"><table class="sources">
    <thead><tr><th scope="col">File</th><th scope="col">Size</th><th scope="col">SHA-256</th><th scope="col">Added</th></tr></thead>
    <tbody>${sources.map(
      (source) => html`<tr>
        <th scope="row">${shown(source.path)}</th>
        <td class="number">${bytes(source.size)}</td>
        <td><code class="hash" title="${source.sha256}">${source.sha256}</code></td>
        <td>${shown(source.addedBy)}, ${time(source.at)}</td>
      </tr>`,
    )}</tbody>
  </table></div>`;
}

function entryHref(id: string): string {
  return `/entries/${encodeURIComponent(id)}`;
}

/** Text from agents and people, with hidden characters spelled out. */
function shown(text: string): Html {
  return html`${splitHidden(text).map((piece) =>
    piece.hidden ? html`<span class="hidden-char" title="hidden character">${piece.text}</span>` : piece.text,
  )}`;
}

/** A search snippet: hits stand between U+0001 and U+0002. */
function marked(snippet: string): Html {
  const [before = "", ...rest] = snippet.split("\u0001");
  return html`${shown(before.replaceAll("\u0002", ""))}${rest.map((part) => {
    const [hit = "", ...after] = part.split("\u0002");
    return html`<mark>${shown(hit)}</mark>${shown(after.join(""))}`;
  })}`;
}

const dateFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });
const timeFormat = new Intl.DateTimeFormat("en-GB", {
  dateStyle: "full",
  timeStyle: "short",
  timeZone: "UTC",
});

function time(iso: string): Html {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return shown(iso);
  return html`<time datetime="${date.toISOString()}" title="${timeFormat.format(date)} UTC">${dateFormat.format(date)}</time>`;
}

function countOf(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en-GB")} ${count === 1 ? one : many}`;
}

function bytes(size: number): string {
  if (size < 1000) return `${size}\u00a0B`;
  const units = ["kB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log10(size) / 3), units.length);
  return `${(size / 1000 ** power).toFixed(1)}\u00a0${units[power - 1]}`;
}

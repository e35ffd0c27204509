import type { Browser } from "playwright-core";
import { findChromium } from "./programs.ts";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A running browser; the caller closes it. */
export async function startChromium(): Promise<Browser> {
  const found = findChromium();
  if ("missing" in found) throw new Error(found.missing);
  const { chromium } = await import("playwright-core");
  return chromium.launch({ executablePath: found.path, headless: true, args: flags });
}

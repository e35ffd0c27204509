import type { Page } from "playwright-core";

type Shortcut = { label: string; keys: string };

/** The shortcuts of the current view, as its help lists them. */
export async function shortcutsOf(page: Page): Promise<Shortcut[]> {
  const menu = page.getByRole("button", { name: "Menu" });
  if (await menu.isVisible()) await menu.click();
  await page.getByRole("button", { name: "Show keyboard shortcuts" }).click();
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await help.locator("dl > div").first().waitFor();
  const found = await help.locator("dl > div").evaluateAll((rows) =>
    rows.map((row) => ({
      label: row.querySelector("dt")?.textContent ?? "",
      keys: [...row.querySelectorAll("kbd")].map((key) => key.textContent).join(" "),
    })),
  );
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  return found;
}

/** Pairs of which one is pressed on the way to the other. */
export const collisionsOf = (shortcuts: readonly Shortcut[]): string[] =>
  shortcuts.flatMap((one, at) =>
    shortcuts
      .filter(
        (other, index) =>
          index !== at && (other.keys === one.keys ? index > at : other.keys.startsWith(`${one.keys} `)),
      )
      .map((other) => `${one.label} (${one.keys}) and ${other.label} (${other.keys})`),
  );

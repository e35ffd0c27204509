import { useEffect } from "react";
import { boot } from "../boot.ts";
import type { Output } from "../client/call.ts";
import { isNew, noticeAddress, noticeWords } from "./notice.tsx";

/** Per workspace and person: several can share a browser. */
const keyOf = (what: string) => `scriptorium ${what} ${JSON.stringify([boot.workspace.name, boot.person.name])}`;

function read(what: string): string | null {
  try {
    return localStorage.getItem(keyOf(what));
  } catch {
    return null;
  }
}

function write(what: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(keyOf(what));
    else localStorage.setItem(keyOf(what), value);
  } catch {
    // Private windows may store nothing: the choice then lasts until the page is closed.
  }
}

export type BrowserNotices = "on" | "off" | "blocked" | "impossible";

/** Whether this browser shows notifications of the workspace. */
export function browserNotices(): BrowserNotices {
  if (!("Notification" in window) || !window.isSecureContext) return "impossible";
  if (Notification.permission === "denied") return "blocked";
  return Notification.permission === "granted" && read("browser notifications") === "on" ? "on" : "off";
}

/** Asks the person if needed, so it has to be called in a click. */
export async function turnOn(): Promise<BrowserNotices> {
  if (Notification.permission === "default") await Notification.requestPermission();
  if (Notification.permission === "granted") write("browser notifications", "on");
  return browserNotices();
}

export function turnOff(): BrowserNotices {
  write("browser notifications", null);
  return browserNotices();
}

/**
 * Shows new notifications while the tab is hidden. Only what happened is shown, not the words of a page or a message:
 * other people may see the screen. The newest one shown is stored, so that of several tabs one shows it.
 */
export function useBrowserNotices(found: Output<"notifications"> | undefined): void {
  useEffect(() => {
    const newest = found?.notifications[0]?.id;
    if (!found || newest === undefined) return;
    const stored = read("newest notification");
    const shown = stored === null ? newest : Number(stored);
    if (stored === null || newest > shown) write("newest notification", String(newest));
    if (!document.hidden || browserNotices() !== "on") return;
    for (const one of found.notifications.filter((notice) => notice.id > shown && isNew(notice)).reverse()) {
      const notification = new Notification(noticeWords[one.kind], { tag: `scriptorium ${one.id}` });
      notification.onclick = () => {
        window.focus();
        location.assign(noticeAddress(one));
      };
    }
  }, [found]);
}

import { useMantineColorScheme } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { boot } from "../boot.ts";
import { follow, type LiveState } from "../client/live.ts";
import { signOut } from "../client/sign-out.ts";
import { startCreating, useCreating } from "../creating/creating.ts";
import { QueueBar } from "../inbox/queue-bar.tsx";
import { Menu, Search } from "../parts/icons.tsx";
import { later } from "../parts/later.tsx";
import { Shown } from "../parts/shown.tsx";
import { type Action, listenToKeys, useActions } from "./actions.ts";
import { Bell } from "./bell.tsx";
import { Help } from "./help.tsx";
import { Keys } from "./keys.tsx";
import { Nav, places } from "./nav.tsx";
import { TrustBanner } from "./trust-banner.tsx";
import { WarningBanner } from "./warning-banner.tsx";

const CreatingDialogs = later(() => import("../creating/dialogs.tsx").then(({ CreatingDialogs }) => CreatingDialogs));
const Palette = later(() => import("./palette.tsx").then(({ Palette }) => Palette));

/** The frame of every page: navigation, palette, help, live feed. */
export function Frame() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [open, setOpen] = useState<"palette" | "help" | "nav" | undefined>();
  const [live, setLive] = useState<LiveState>("connecting");
  const path = useRouterState({ select: (state) => state.location.pathname });
  const isCreating = useCreating() !== undefined;

  useEffect(() => follow({ queries, from: boot.cursor, onState: setLive }), [queries]);
  useEffect(listenToKeys, []);
  const menu = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (open !== "nav") return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      setOpen(undefined);
      menu.current?.focus();
    };
    window.addEventListener("keydown", onKey, { capture: true });
    return () => window.removeEventListener("keydown", onKey, { capture: true });
  }, [open]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whatever was open closes when the page changes
  useEffect(() => setOpen(undefined), [path]);
  const arrived = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const first = useRef(arrived ?? path);
  useEffect(() => {
    if (arrived === undefined || arrived === first.current) return;
    first.current = "";
    // The focused element is gone with the old page. Without this, Tab would start at the top of the document.
    if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
  }, [arrived]);

  const go = places.map(
    ({ to, label, keys, operation }): Action => ({
      id: `go${to}`,
      label,
      group: "Go to",
      keys,
      operation,
      run: () => void navigate({ to }),
    }),
  );
  useActions([
    ...go,
    { id: "palette", label: "Find anything", group: "Go to", keys: "mod+k", run: () => setOpen("palette") },
    { id: "find", label: "Search all text", group: "Go to", keys: "/", run: () => void navigate({ to: "/search" }) },
    {
      id: "notifications",
      label: "Notifications",
      group: "Go to",
      keys: "g n",
      run: () => void navigate({ to: "/notifications" }),
    },
    {
      id: "new-page",
      label: "New page",
      group: "Page",
      keys: "n p",
      operation: "create_page",
      run: () => startCreating({ kind: "page" }),
    },
    {
      id: "new-section",
      label: "New section",
      group: "Page",
      keys: "n s",
      operation: "create_section",
      run: () => startCreating({ kind: "section" }),
    },
    { id: "profile", label: "Profile", group: "Go to", keys: "g u", run: () => void navigate({ to: "/profile" }) },
    { id: "sessions", label: "Sessions", group: "Go to", keys: "g e", run: () => void navigate({ to: "/sessions" }) },
    {
      id: "agents",
      label: "Set up agent",
      group: "Go to",
      operation: "show_agents",
      run: () => void navigate({ to: "/settings/agents" }),
    },
    { id: "sign-out", label: "Sign out", group: "View", run: () => void signOut() },
    { id: "help", label: "Show keyboard shortcuts", group: "View", keys: "?", run: () => setOpen("help") },
    {
      id: "theme",
      label: colorScheme === "dark" ? "Use light colours" : "Use dark colours",
      group: "View",
      keys: "t d",
      run: () => setColorScheme(colorScheme === "dark" ? "light" : "dark"),
    },
    {
      id: "theme-auto",
      label: "Use the system's colours",
      group: "View",
      when: colorScheme !== "auto",
      run: () => setColorScheme("auto"),
    },
  ]);

  return (
    <div className="frame" data-nav={open === "nav" ? "open" : undefined}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="bar">
        <button
          type="button"
          className="icon-button"
          ref={menu}
          aria-label="Menu"
          aria-expanded={open === "nav"}
          onClick={() => setOpen(open === "nav" ? undefined : "nav")}
        >
          <Menu size={20} />
        </button>
        <span className="bar-name">
          <Shown text={boot.workspace.name} />
        </span>
        <Bell place="bar" />
        <button type="button" className="icon-button" aria-label="Find anything" onClick={() => setOpen("palette")}>
          <Search size={20} />
        </button>
      </header>
      <aside className="side" aria-label="Workspace">
        <Nav
          live={live}
          onFind={() => setOpen("palette")}
          find={<Keys keys="mod+k" />}
          onHelp={() => setOpen("help")}
        />
      </aside>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a veil; the menu button closes it for keys */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the same */}
      <div className="veil" onClick={() => setOpen(undefined)} />
      <main id="main" tabIndex={-1}>
        {live === "offline" && (
          <p className="offline" role="status">
            The server is not reachable. This page may be out of date; it refreshes when the server is back.
          </p>
        )}
        {live === "signed-out" && (
          <p className="offline" role="status">
            Your session has ended. <a href={`/sign-in?${new URLSearchParams({ to: path })}`}>Sign in</a> to go on. Text
            that you have not sent is kept in this browser.
          </p>
        )}
        <WarningBanner />
        <TrustBanner />
        <QueueBar />
        <Outlet />
      </main>
      {open === "palette" && <Palette onClose={() => setOpen(undefined)} />}
      {isCreating && <CreatingDialogs />}
      {open === "help" && <Help onClose={() => setOpen(undefined)} />}
    </div>
  );
}

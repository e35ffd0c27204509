/** What the server shares with the web application, free of modules that need Node. */
import type { Person } from "../kernel/caller.ts";
import type { Noun } from "../kernel/noun.ts";
import type { CallerKind } from "../kernel/operation-description.ts";

/** The header with the page secret. Pages keep the secret where only their own origin, port included, can read it. */
export const pageHeader = "x-page-secret";

/** How to call an operation, and the nouns that make its answer stale or that it makes stale. */
export type Route = {
  method: string;
  path: string;
  callers: readonly CallerKind[];
  reads?: readonly Noun[] | undefined;
  touches?: readonly Noun[] | undefined;
};

/** Data that the server writes into the page, so that the application starts without a request. */
export type Boot = {
  workspace: { name: string; wiki: string; sources: string };
  person: { name: string; rank: Person["rank"] };
  /** Every operation that HTTP has, by name. */
  operations: Record<string, Route>;
  /** The end of the event log when the page was made. Reading on from here misses no event. */
  cursor: string;
};

/** Data of the sign-in page. */
export type SignInBoot = {
  /** Where to go when signed in. */
  to: string;
  /** Whether the address has a code or token, and whether that is still good. */
  link: "none" | "valid" | "expired";
  /** Whom the link signs in, and where. */
  person?: string;
  workspace?: string;
  /** True if the person opened the address themselves, and not a page of another site. */
  is_own_click: boolean;
  is_from_elsewhere: boolean;
  passkeys: boolean;
  /** The identity provider, if one is configured; `is_callback` on the page that it sends the browser back to. */
  oidc?: { label: string; is_callback: boolean };
};

/** A page as the browser shows it. */
export type RenderedPage = {
  path: string;
  title: string;
  source_sha: string;
  html: string;
  /** True if `html` has only the beginning of a long text. */
  is_beginning: boolean;
  /** Where the body begins in the file. */
  body_from: number;
  tags: string[];
  lastAuthor: string | null;
  updated_at: string | null;
  words: number;
  entry: { id: string; version: number; latest: number; mode: "snapshot" | "log" } | null;
  section: { description: string; writable_by: string[] } | null;
};

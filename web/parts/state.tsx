import { Button, Skeleton } from "@mantine/core";
import type { ReactNode } from "react";
import { spellHidden } from "../../src/kernel/hidden.ts";
import { Refusal } from "../client/call.ts";
import { Shown } from "./shown.tsx";

/** Nothing here yet, and what would bring something here. */
export function Empty({ title, icon, children }: { title: string; icon?: ReactNode; children?: ReactNode }) {
  return (
    <div className="empty">
      {icon}
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function NotHere({ what, children }: { what: string; children?: ReactNode }) {
  return (
    <div className="column">
      <div className="message">
        <h1>Not found</h1>
        <p>{spellHidden(what)}</p>
        {children}
        <p>
          <a href="/">Open the wiki</a>
        </p>
      </div>
    </div>
  );
}

/** Something went wrong: what, and the way on. */
export function Failed({ error, again }: { error: Error; again?: () => void }) {
  return (
    <div className="failed" role="alert">
      <p>{spellHidden(error.message)}</p>
      {again && !(error instanceof Refusal && error.status === 401) && (
        <Button size="xs" variant="default" onClick={again}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** Why something that the person did was refused. */
export function Problem({ text }: { text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p className="note bad plain" role="alert">
      <Shown text={text} />
    </p>
  );
}

export function Loading({ lines = 6 }: { lines?: number }) {
  return (
    <div className="loading" aria-busy="true">
      <span className="sr-only">Loading</span>
      {Array.from({ length: lines }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <Skeleton key={at} height={14} mt={12} width={`${[92, 84, 96, 70, 88, 60][at % 6]}%`} />
      ))}
    </div>
  );
}

/** A fault of ours: the rest of the application goes on. */
export function Broken({ error }: { error: unknown }) {
  return (
    <div className="column">
      <div className="message">
        <h1>This page crashed</h1>
        <p>This is a bug in Scriptorium: {spellHidden(String(error))}</p>
        <p>
          <a href={location.href}>Reload</a>
        </p>
      </div>
    </div>
  );
}

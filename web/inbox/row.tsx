import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

type Props = {
  to: string;
  search?: Record<string, string>;
  title: ReactNode;
  summary?: ReactNode;
  state: { word: ReactNode; tone: string };
  facts: ReactNode[];
  /** Below the facts: why it waits, and buttons. */
  children?: ReactNode;
};

/** A row of the inbox: what waits, its state, from whom, and for how long. */
export function Row({ to, search, title, summary, state, facts, children }: Props) {
  return (
    <li>
      <h2>
        <Link to={to} {...(search ? { search: search as never } : {})}>
          {title}
        </Link>
      </h2>
      {summary && <p className="summary">{summary}</p>}
      <p className="facts">
        <span className={`state tone-${state.tone}`}>{state.word}</span>
        {facts.map((fact, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the facts of a kind of row are always the same
          <span key={at}>{fact}</span>
        ))}
      </p>
      {children}
    </li>
  );
}

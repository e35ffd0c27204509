import { Link } from "@tanstack/react-router";
import { boot } from "../boot.ts";
import type { Output } from "../client/call.ts";
import { homeOf } from "../graph/homes.ts";
import { Bot, ScrollText, Users } from "../parts/icons.tsx";
import { Shown } from "../parts/shown.tsx";
import { Time } from "../parts/time.tsx";

export type Row = Output<"activity">["activity"][number];

const icons = { person: Users, agent: Bot, system: ScrollText } as const;
const kindWords = { person: "Person", agent: "Agent", system: "System" } as const;

/** The page of the thing; undefined for what has none, such as a token. */
function addressOf({ event, subject, source_path: path, title }: Row): string | undefined {
  if (event === "page-removed") return undefined;
  if (event.startsWith("gate-reached")) return `/gates/${subject.slice(subject.indexOf(":") + 1)}`;
  if (subject.startsWith("user:")) return "/people";
  if (event.startsWith("settings-")) return "/settings";
  const home = homeOf(subject);
  if (home) return title === null ? undefined : home;
  return path === null ? undefined : pageAddress(path);
}

export function pageAddress(path: string): string {
  const wiki = `${boot.workspace.wiki}/`;
  return path.startsWith(wiki) && path.endsWith(".md") ? `/entries/${path.slice(wiki.length, -3)}` : `/pages/${path}`;
}

/** Activity as rows: who, what, to which thing, when. */
export function ActivityRows({ of }: { of: Row[] }) {
  return (
    <ul className="activity">
      {of.map((row) => {
        const Icon = icons[row.by_kind];
        const address = addressOf(row);
        const title = row.title ?? (address && row.source_path);
        return (
          <li key={row.id}>
            <span className="activity-icon" title={kindWords[row.by_kind]}>
              <Icon size={14} aria-label={kindWords[row.by_kind]} role="img" />
            </span>
            <span>
              <strong>
                <Shown text={row.by} />
              </strong>{" "}
              {row.text}{" "}
              {title && address ? (
                <Link to={address}>
                  <Shown text={title} />
                </Link>
              ) : (
                title && <Shown text={title} />
              )}
              {row.note && (
                <span className="activity-note">
                  <Shown text={row.note} />
                </span>
              )}
            </span>
            <Time at={row.at} />
          </li>
        );
      })}
    </ul>
  );
}

import { Button, NativeSelect } from "@mantine/core";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ActivityThing } from "../../src/crew/report/activity-words.ts";
import { boot } from "../boot.ts";
import { mayCall } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { startCreating } from "../creating/creating.ts";
import { ScrollText } from "../parts/icons.tsx";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { dayOf } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import type { ActivitySearch } from "../routes.tsx";
import { ActivityRows, pageAddress, type Row } from "./rows.tsx";

const things: Record<ActivityThing, string> = {
  pages: "Pages",
  topics: "Topics",
  proposals: "Proposals",
  runs: "Runs and tasks",
  sources: "Sources",
  people: "People and tokens",
  settings: "Settings",
};

const both = { people: "People", agents: "Agents" } as const;

/** Who did what, newest first. */
export function Activity() {
  useTitle("Activity");
  const search = useSearch({ strict: false }) as ActivitySearch;
  const navigate = useNavigate();
  const { about, who, by, page, run, before } = search;
  const found = useOperation("activity", {
    limit: 60,
    ...(about === undefined ? {} : { about }),
    ...(who === undefined ? {} : { who }),
    ...(by === undefined ? {} : { by }),
    ...(page === undefined ? {} : { source_path: page }),
    ...(run === undefined ? {} : { run_id: run }),
    ...(before === undefined ? {} : { before }),
  });
  const names = useOperation("list_names", {}).data?.names ?? [];
  const show = (next: ActivitySearch) =>
    void navigate({ to: "/activity", search: { ...search, before: undefined, ...next } as never });
  const rows = found.data?.activity ?? [];
  const isFiltered = [about, who, by, page, run, before].some((filter) => filter !== undefined);
  const known = names.map(({ name }) => name);
  return (
    <div className="column">
      <div className="page-head">
        <h1>Activity</h1>
        <p className="lead">What people and agents did, newest first.</p>
      </div>
      <nav className="chips" aria-label="People or agents">
        {([undefined, "people", "agents"] as const).map((name) => (
          <Link
            key={name ?? ""}
            to="/activity"
            search={{ ...search, before: undefined, who: name, by: undefined } as never}
            className="chip"
            data-on={(who === name && by === undefined) || undefined}
            aria-current={who === name && by === undefined ? "page" : undefined}
            activeProps={{}}
          >
            {name === undefined ? "All" : both[name]}
          </Link>
        ))}
      </nav>
      <div className="activity-filters">
        <NativeSelect
          label="By"
          size="xs"
          value={by ?? ""}
          onChange={({ currentTarget }) => show({ by: currentTarget.value || undefined, who: undefined })}
          data={[{ value: "", label: "Anybody" }, ...(by && !known.includes(by) ? [by] : []), ...known]}
        />
        <NativeSelect
          label="About"
          size="xs"
          value={about ?? ""}
          onChange={({ currentTarget }) => show({ about: (currentTarget.value || undefined) as ActivityThing })}
          data={[
            { value: "", label: "Everything" },
            ...(Object.keys(things) as ActivityThing[])
              .filter((thing) => thing !== "people" || boot.person.rank === "admin" || about === thing)
              .map((value) => ({ value, label: things[value] })),
          ]}
        />
      </div>
      {(page !== undefined || run !== undefined) && (
        <p className="facts">
          {page !== undefined && (
            <span>
              Page{" "}
              <Link to={pageAddress(page)}>
                <Shown text={page} />
              </Link>
            </span>
          )}
          {run !== undefined && (
            <span>
              Run <Link to={`/runs/${run}`}>{run}</Link>
            </span>
          )}
          <button type="button" className="link-button" onClick={() => show({ page: undefined, run: undefined })}>
            Show all pages and runs
          </button>
        </p>
      )}
      {found.error && <Failed error={found.error} again={() => void found.refetch()} />}
      {found.isPending && <Loading lines={10} />}
      {found.data && rows.length === 0 && (
        <Empty icon={<ScrollText size={28} />} title={isFiltered ? "No activity here" : "No activity yet"}>
          {isFiltered ? (
            <p>
              <Link to="/activity">Show all activity</Link>
            </p>
          ) : (
            <>
              <p>Edits, topics, proposals and runs appear here as they happen.</p>
              {mayCall("create_page") && <Button onClick={() => startCreating({ kind: "page" })}>New page</Button>}
            </>
          )}
        </Empty>
      )}
      {byDay(rows).map(([day, of]) => (
        <section key={day} className="activity-day" aria-label={day}>
          <h2>{day}</h2>
          <ActivityRows of={of} />
        </section>
      ))}
      <nav className="activity-pages" aria-label="Pages of activity">
        {before !== undefined && (
          <Link to="/activity" search={{ ...search, before: undefined } as never}>
            Newest
          </Link>
        )}
        {found.data?.next != null && (
          <Link to="/activity" search={{ ...search, before: found.data.next } as never}>
            Older
          </Link>
        )}
      </nav>
    </div>
  );
}

function byDay(rows: Row[]): [string, Row[]][] {
  const days = new Map<string, Row[]>();
  for (const row of rows) {
    const day = dayOf(row.at);
    days.set(day, [...(days.get(day) ?? []), row]);
  }
  return [...days];
}

import { createRootRoute, createRoute, createRouter, type RouteComponent } from "@tanstack/react-router";
import type { ActivityThing } from "../src/crew/report/activity-words.ts";
import { Home } from "./home/home.tsx";
import { later } from "./parts/later.tsx";
import { Broken, NotHere } from "./parts/state.tsx";
import { type Tab, tabs } from "./runs/tabs.ts";
import { Frame } from "./shell/frame.tsx";

const root = createRootRoute({
  component: Frame,
  notFoundComponent: () => <NotHere what="This page does not exist." />,
});

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;
const number = (value: unknown): number | undefined => {
  const read = Number(value);
  return value !== undefined && value !== "" && Number.isInteger(read) ? read : undefined;
};

const views = ["read", "edit", "suggest", "history", "blame", "source"] as const;
export type PageSearch = {
  view?: (typeof views)[number] | undefined;
  version?: number | undefined;
  topic?: string | undefined;
  as?: string | undefined;
  compare?: number | undefined;
  side?: "talk" | "about" | undefined;
  /** The passage whose trust is looked at. */
  passage?: string | undefined;
};
const pageSearch = (raw: Record<string, unknown>): PageSearch => ({
  view: views.find((view) => view === raw.view),
  version: number(raw.version),
  topic: text(raw.topic),
  as: text(raw.as),
  compare: number(raw.compare),
  side: raw.side === "talk" || raw.side === "about" ? raw.side : undefined,
  passage: text(raw.passage),
});

export type ActivitySearch = {
  about?: ActivityThing | undefined;
  who?: "people" | "agents" | undefined;
  by?: string | undefined;
  page?: string | undefined;
  run?: string | undefined;
  before?: number | undefined;
};

const at = (path: string, component: RouteComponent) => createRoute({ getParentRoute: () => root, path, component });

const home = at("/", Home);
const entry = createRoute({
  getParentRoute: () => root,
  path: "/entries/$",
  component: later(() => import("./entries/page.tsx").then(({ EntryPage }) => EntryPage)),
  validateSearch: pageSearch,
});
const page = createRoute({
  getParentRoute: () => root,
  path: "/pages/$",
  component: later(() => import("./entries/page.tsx").then(({ WorkspacePage }) => WorkspacePage)),
  validateSearch: pageSearch,
});
const search = createRoute({
  getParentRoute: () => root,
  path: "/search",
  component: later(() => import("./search/search.tsx").then(({ Search }) => Search)),
  validateSearch: (raw: Record<string, unknown>) => ({
    ...{ q: text(raw.q), in: text(raw.in), type: text(raw.type) },
    trust: (["verified", "unverified", "doubtful"] as const).find((one) => one === raw.trust),
  }),
});
const sources = at(
  "/sources",
  later(() => import("./sources/sources.tsx").then(({ Sources }) => Sources)),
);
const source = at(
  "/source/$",
  later(() => import("./sources/source.tsx").then(({ SourcePage }) => SourcePage)),
);
const people = at(
  "/people",
  later(() => import("./people/people.tsx").then(({ People }) => People)),
);
const sessions = at(
  "/sessions",
  later(() => import("./sessions/sessions.tsx").then(({ Sessions }) => Sessions)),
);
const profile = at(
  "/profile",
  later(() => import("./profile/profile.tsx").then(({ Profile }) => Profile)),
);
const notifications = at(
  "/notifications",
  later(() => import("./notifications/notifications.tsx").then(({ Notifications }) => Notifications)),
);
const activity = createRoute({
  getParentRoute: () => root,
  path: "/activity",
  component: later(() => import("./activity/activity.tsx").then(({ Activity }) => Activity)),
  // The server refuses a kind of thing that it does not know.
  validateSearch: (raw: Record<string, unknown>): ActivitySearch => ({
    about: text(raw.about) as ActivityThing | undefined,
    who: raw.who === "people" || raw.who === "agents" ? raw.who : undefined,
    by: text(raw.by),
    page: text(raw.page),
    run: text(raw.run),
    before: number(raw.before),
  }),
});
const inbox = createRoute({
  getParentRoute: () => root,
  path: "/inbox",
  component: later(() => import("./inbox/inbox.tsx").then(({ Inbox }) => Inbox)),
  validateSearch: (raw: Record<string, unknown>) => ({
    show: raw.show === "decided" || raw.show === "all" ? raw.show : undefined,
  }),
});
const proposal = createRoute({
  getParentRoute: () => root,
  path: "/proposals/$id",
  component: later(() => import("./inbox/proposal.tsx").then(({ ProposalPage }) => ProposalPage)),
  validateSearch: (raw: Record<string, unknown>) => ({ as: raw.as === "source" ? raw.as : undefined }),
});
const heldFiles = at(
  "/held-files/$id",
  later(() => import("./inbox/held-files.tsx").then(({ HeldFilesPage }) => HeldFilesPage)),
);
const gate = at(
  "/gates/$id",
  later(() => import("./inbox/gate.tsx").then(({ GatePage }) => GatePage)),
);
const planChange = at(
  "/plan-changes/$id",
  later(() => import("./inbox/plan-change.tsx").then(({ PlanChangePage }) => PlanChangePage)),
);
const settings = at(
  "/settings",
  later(() => import("./settings/settings.tsx").then(({ Settings }) => Settings)),
);
const agents = at(
  "/settings/agents",
  later(() => import("./settings/agents.tsx").then(({ AgentSettings }) => AgentSettings)),
);
const tasks = createRoute({
  getParentRoute: () => root,
  path: "/tasks",
  component: later(() => import("./tasks/tasks.tsx").then(({ Tasks }) => Tasks)),
  validateSearch: (raw: Record<string, unknown>) => ({ state: text(raw.state) }),
});
const task = createRoute({
  getParentRoute: () => root,
  path: "/tasks/$id",
  component: later(() => import("./tasks/task.tsx").then(({ TaskPage }) => TaskPage)),
  validateSearch: (raw: Record<string, unknown>) => ({ compare: text(raw.compare) }),
});
const graph = createRoute({
  getParentRoute: () => root,
  path: "/graph",
  component: later(() => import("./graph/graph.tsx").then(({ GraphPage }) => GraphPage)),
  validateSearch: (raw: Record<string, unknown>) => ({
    node: text(raw.node),
    type: text(raw.type),
    depth: number(raw.depth),
    q: text(raw.q),
  }),
});

const runs = at(
  "/runs",
  later(() => import("./runs/runs.tsx").then(({ Runs }) => Runs)),
);
const run = createRoute({
  getParentRoute: () => root,
  path: "/runs/$id",
  component: later(() => import("./runs/run.tsx").then(({ RunPage }) => RunPage)),
  validateSearch: (raw: Record<string, unknown>) => ({
    tab: (Object.keys(tabs) as Tab[]).find((tab) => tab === raw.tab),
    versions: raw.versions === true ? true : number(raw.versions),
    against: number(raw.against),
  }),
});
const topics = createRoute({
  getParentRoute: () => root,
  path: "/topics",
  component: later(() => import("./topics/topics.tsx").then(({ Topics }) => Topics)),
  validateSearch: (raw: Record<string, unknown>) => ({ show: text(raw.show) }),
});

const topic = at(
  "/topics/$id",
  later(() => import("./topics/topic.tsx").then(({ TopicPage }) => TopicPage)),
);

export const router = createRouter({
  routeTree: root.addChildren([
    ...[
      home,
      entry,
      page,
      search,
      sources,
      source,
      people,
      sessions,
      profile,
      notifications,
      activity,
      inbox,
      proposal,
      topics,
      topic,
    ],
    ...[runs, run, tasks, task, graph, heldFiles, gate, planChange, settings, agents],
  ]),
  defaultErrorComponent: Broken,
  defaultPreload: "intent",
  defaultPreloadDelay: 30,
  scrollRestoration: true,
});

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
} from "@tanstack/react-router";
import { Home } from "./home/home.tsx";
import { NotHere } from "./parts/state.tsx";
import { Frame } from "./shell/frame.tsx";

const root = createRootRoute({ component: Frame, notFoundComponent: () => <NotHere what="There is no such page." /> });

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;
const number = (value: unknown): number | undefined => {
  const read = Number(value);
  return value !== undefined && value !== "" && Number.isInteger(read) ? read : undefined;
};

const views = ["read", "edit", "history", "blame", "source"] as const;
export type PageSearch = {
  view?: (typeof views)[number] | undefined;
  version?: number | undefined;
  topic?: string | undefined;
  as?: string | undefined;
  compare?: number | undefined;
  side?: "talk" | "about" | undefined;
};
const pageSearch = (raw: Record<string, unknown>): PageSearch => ({
  view: views.find((view) => view === raw.view),
  version: number(raw.version),
  topic: text(raw.topic),
  as: text(raw.as),
  compare: number(raw.compare),
  side: raw.side === "talk" || raw.side === "about" ? raw.side : undefined,
});

const at = (path: string, component: RouteComponent) => createRoute({ getParentRoute: () => root, path, component });

const home = at("/", Home);
const entry = createRoute({
  getParentRoute: () => root,
  path: "/entries/$",
  component: lazyRouteComponent(() => import("./entries/page.tsx"), "EntryPage"),
  validateSearch: pageSearch,
});
const page = createRoute({
  getParentRoute: () => root,
  path: "/pages/$",
  component: lazyRouteComponent(() => import("./entries/page.tsx"), "WorkspacePage"),
  validateSearch: pageSearch,
});
const search = createRoute({
  getParentRoute: () => root,
  path: "/search",
  component: lazyRouteComponent(() => import("./search/search.tsx"), "Search"),
  validateSearch: (raw: Record<string, unknown>) => ({ q: text(raw.q), in: text(raw.in), type: text(raw.type) }),
});
const sources = at(
  "/sources",
  lazyRouteComponent(() => import("./sources/sources.tsx"), "Sources"),
);
const source = at(
  "/source/$",
  lazyRouteComponent(() => import("./sources/source.tsx"), "SourcePage"),
);
const people = at(
  "/people",
  lazyRouteComponent(() => import("./people/people.tsx"), "People"),
);
const inbox = at(
  "/inbox",
  lazyRouteComponent(() => import("./inbox/inbox.tsx"), "Inbox"),
);
const proposal = at(
  "/proposals/$id",
  lazyRouteComponent(() => import("./inbox/proposal.tsx"), "ProposalPage"),
);
const tasks = createRoute({
  getParentRoute: () => root,
  path: "/tasks",
  component: lazyRouteComponent(() => import("./tasks/tasks.tsx"), "Tasks"),
  validateSearch: (raw: Record<string, unknown>) => ({ state: text(raw.state) }),
});
const task = at(
  "/tasks/$id",
  lazyRouteComponent(() => import("./tasks/task.tsx"), "TaskPage"),
);
const graph = createRoute({
  getParentRoute: () => root,
  path: "/graph",
  component: lazyRouteComponent(() => import("./graph/graph.tsx"), "GraphPage"),
  validateSearch: (raw: Record<string, unknown>) => ({
    node: text(raw.node),
    type: text(raw.type),
    depth: number(raw.depth),
  }),
});

const runs = at(
  "/runs",
  lazyRouteComponent(() => import("./runs/runs.tsx"), "Runs"),
);
const run = createRoute({
  getParentRoute: () => root,
  path: "/runs/$id",
  component: lazyRouteComponent(() => import("./runs/run.tsx"), "RunPage"),
  validateSearch: (raw: Record<string, unknown>) => ({ tab: text(raw.tab) }),
});
const topics = createRoute({
  getParentRoute: () => root,
  path: "/topics",
  component: lazyRouteComponent(() => import("./topics/topics.tsx"), "Topics"),
  validateSearch: (raw: Record<string, unknown>) => ({ show: text(raw.show) }),
});

const topic = at(
  "/topics/$id",
  lazyRouteComponent(() => import("./topics/topic.tsx"), "TopicPage"),
);

export const router = createRouter({
  routeTree: root.addChildren([
    ...[home, entry, page, search, sources, source, people, inbox, proposal, topics, topic],
    ...[runs, run, tasks, task, graph],
  ]),
  defaultPreload: "intent",
  defaultPreloadDelay: 30,
  scrollRestoration: true,
});

import { Command } from "@commander-js/extra-typings";
import { markRead, notifications } from "../crew/report/notice-operations.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, report } from "./session.ts";
import { bold, plural, table, when } from "./text.ts";

export const notificationsCommand = (common: () => Common) =>
  new Command("notifications")
    .description("list what waits for you and what you have not read")
    .option("--mark-read", "mark every topic and notification as read")
    .action(({ markRead: mark }) =>
      mark
        ? report(common(), markRead, { all: true }, () => "everything is marked as read")
        : report(common(), notifications, {}, listed),
    );

function listed({ unread, unread_topics, notifications: found }: OutputOf<typeof notifications>): string {
  if (found.length === 0 && unread_topics.length === 0) return "no notifications";
  const rows = found.map(({ kind, subject, by, at, read, waiting }) => [
    read || !waiting ? "" : "new",
    kind.replace("_", " "),
    subject,
    by,
    when(at),
  ]);
  return [
    bold(`${plural(unread, "unread notification")}, ${plural(unread_topics.length, "unread topic")}`),
    ...(rows.length > 0 ? [table(rows)] : []),
  ].join("\n");
}

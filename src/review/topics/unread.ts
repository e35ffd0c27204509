import type { PeopleApp } from "../../people/people-app.ts";
import { everything, marksOf, unreadTopics } from "../../store/queries/read-marks.ts";
import { type TopicFor, topicsFor } from "../../store/queries/topics-for.ts";

/**
 * The open topics in which somebody else wrote since the person read them. Topics from before the person was added, or
 * marked everything as read, are read.
 */
export const unreadFor = async (app: PeopleApp, person: string): Promise<Set<string>> =>
  new Set(await unreadTopics(app.db.read, person, await unreadSince(app, person)));

/** The open topics that are assigned to the person, or mention them in a message that they have not read. */
export const waitingTopics = async (app: PeopleApp, person: string): Promise<TopicFor[]> =>
  topicsFor(app.db.read, person, await unreadSince(app, person));

async function unreadSince(app: PeopleApp, person: string): Promise<string> {
  const [marks, user] = await Promise.all([marksOf(app.db.read, person, [everything]), app.users.find(person)]);
  return [marks.get(everything)?.read_at ?? "", user?.created_at ?? ""].sort().at(-1) ?? "";
}

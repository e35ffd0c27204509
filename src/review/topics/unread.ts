import type { PeopleApp } from "../../people/people-app.ts";
import { everything, marksOf, unreadTopics } from "../../store/queries/read-marks.ts";

/**
 * The open topics in which somebody else wrote since the person read them. Topics from before the person was added, or
 * marked everything as read, are read.
 */
export async function unreadFor(app: PeopleApp, person: string): Promise<Set<string>> {
  const [marks, user] = await Promise.all([marksOf(app.db.read, person, [everything]), app.users.find(person)]);
  const since = [marks.get(everything)?.read_at ?? "", user?.created_at ?? ""].sort().at(-1) ?? "";
  return new Set(await unreadTopics(app.db.read, person, since));
}

/**
 * Whether an item of the inbox is for this person: they are responsible for it, or nobody who can decide is. So each
 * item is for somebody, also after its person has left.
 */
export const isForPerson = (person: string, responsible: string | null, deciders: ReadonlySet<string>): boolean =>
  responsible === null || responsible === person || !deciders.has(responsible);

import * as z from "zod";
import { listTrustRows } from "../../store/queries/trust.ts";
import { shownPassage, stateShape } from "../../trust/shown.ts";
import { isDoubtful, trustStates } from "../../trust/state.ts";
import type { CrewApp } from "../record/crew-app.ts";

export const pageToRecheck = z.object({
  source_path: z.string(),
  passage: z.string().describe("Id of the passage that lost its trust last"),
  text: z.string(),
  state: stateShape,
  lost: stateShape.nullable().describe("The verified state that it had"),
  cause: z.string().nullable().describe("Why it lost its trust"),
  since: z.string(),
  count: z.int().describe("Number of passages of the page that lost their trust, at most 200 of all pages"),
});
type PageToRecheck = z.output<typeof pageToRecheck>;

const mostPassages = 200;
const longestText = 300;
/** The inbox is read often: what is not looked at by then is in the next answer. */
const longestCatchUpMs = 200;

/** The pages with passages that lost their trust, by their newest loss. */
export async function pagesToRecheck({ db, trust }: CrewApp): Promise<PageToRecheck[]> {
  await trust.catchUp(longestCatchUpMs);
  const rows = await listTrustRows(db.read, {
    states: trustStates.filter(isDoubtful),
    lost: true,
    limit: mostPassages,
  });
  const pages = new Map<string, PageToRecheck>();
  for (const row of rows) {
    const known = pages.get(row.subject);
    if (known) known.count++;
    else {
      const about = {
        longest: longestText,
        cited: [],
        decisions: [],
        openTopics: new Set<string>(),
        pathOf: trust.pathOf,
      };
      const { passage, text, state, lost, causes, since } = shownPassage(row, about);
      const cause = causes[0]?.text ?? null;
      pages.set(row.subject, {
        source_path: trust.pathOf(row.subject),
        passage,
        text,
        state,
        lost,
        cause,
        since,
        count: 1,
      });
    }
  }
  return [...pages.values()];
}

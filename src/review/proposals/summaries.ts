import type { Threads } from "../../kernel/threads/threads.ts";
import type { Database } from "../../store/database.ts";
import { findTopic, firstMessages } from "../../store/queries/topics.ts";
import type { PageReader } from "../../wiki/pages/pages.ts";
import { impactInput, impactTask } from "./impact.ts";
import type { Proposal } from "./proposal.ts";
import type { ProposalStore } from "./proposals.ts";

export type ProposalSummary = {
  id: string;
  title: string | null;
  topic: { quote: string | null; content: string } | null;
  /** Null if it could not be computed. */
  change: {
    added: number;
    removed: number;
    base_moved: boolean;
    source_sha: string | null;
    conflict: boolean;
    hidden: boolean;
  } | null;
};

type Change = NonNullable<ProposalSummary["change"]>;
type Deps = { db: Database; pages: PageReader; threads: Threads; proposals: ProposalStore };

const mostKept = 500;
const longestText = 300;

/** What the inbox says about an open proposal. A change is computed once for each version of its page. */
export function proposalSummaries({ db, pages, threads, proposals }: Deps) {
  const changes = new Map<string, Change>();

  async function changeOf(id: string, page: { text: string; blob: string } | undefined): Promise<Change | null> {
    const key = `${id} ${page?.blob ?? ""}`;
    const known = changes.get(key);
    if (known) return known;
    const whole = await proposals.find(id);
    if (!whole) return null;
    const impact = await threads.run(impactTask, impactInput(whole, page));
    if (!impact.ok) return null;
    const { added, removed, baseMoved, latest, merge, hidden } = impact.value;
    const seen = { added, removed, base_moved: baseMoved, source_sha: latest };
    const change = { ...seen, conflict: baseMoved && !merge?.clean, hidden: hidden.length > 0 };
    const [oldest] = changes.keys();
    if (changes.size >= mostKept && oldest !== undefined) changes.delete(oldest);
    changes.set(key, change);
    return change;
  }

  return {
    async of({ id, kind, subject, topicId }: Proposal): Promise<ProposalSummary> {
      if (kind !== "page") return { id, title: null, topic: null, change: null };
      const read = await pages.read(subject);
      const page = read.ok ? read.value : undefined;
      const topic = topicId === null ? undefined : await findTopic(db.read, topicId);
      const [first] = topic ? await firstMessages(db.read, [topic.id]) : [];
      return {
        id,
        title: (page && /^# +(.+)$/m.exec(page.text)?.[1]?.trim().slice(0, longestText)) || null,
        topic: topic
          ? {
              quote: topic.first_quote?.slice(0, longestText) ?? null,
              content: first?.text.slice(0, longestText) ?? "",
            }
          : null,
        change: await changeOf(id, page),
      };
    },
  };
}

export type ProposalSummaries = ReturnType<typeof proposalSummaries>;

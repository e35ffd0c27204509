import type { PeopleApp } from "../people/people-app.ts";
import type { PerspectiveStore } from "./perspectives/perspectives.ts";
import type { PendingDecisions } from "./proposals/pending-decisions.ts";
import type { ProposalStore } from "./proposals/proposals.ts";
import type { ProposalSummaries } from "./proposals/summaries.ts";
import type { TopicStore } from "./topics/topics.ts";

export interface ReviewApp extends PeopleApp {
  topics: TopicStore;
  proposals: ProposalStore;
  pendingDecisions: PendingDecisions;
  proposalSummaries: ProposalSummaries;
  perspectives: PerspectiveStore;
}

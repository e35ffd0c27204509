import type { CrewApp } from "../../crew/record/crew-app.ts";
import { isBlob } from "../../store/git/blob.ts";
import { newestOfKind } from "../../store/queries/event-log.ts";
import {
  decisionsWithoutEvent,
  handoffsWithoutEvent,
  openPageProposals,
  openTopicPaths,
  sourcesWithoutEvent,
  topicsWithoutText,
} from "../../store/queries/references.ts";
import { topicIds } from "../../store/queries/topics.ts";
import { type Finding, findingsOf } from "../finding.ts";

const restore = "restore a backup of the database";
const mostNamed = 20;

/** Topics, proposals and handoffs name pages, texts and events that exist. */
export async function checkReferences(app: CrewApp): Promise<Finding[]> {
  const { ok } = findingsOf("wiki", "references");
  const found = [...(await checkReview(app)), ...(await checkEvidence(app))];
  return found.length > 0 ? found : [ok("topics, proposals and handoffs name what exists")];
}

async function checkReview({ db, pages }: CrewApp): Promise<Finding[]> {
  const { warning, problem } = findingsOf("wiki", "references");
  const [paths, ids] = [new Set(await pages.list()), new Set(await topicIds(db.read))];
  const found: Finding[] = [];
  for (const { id, path } of await openTopicPaths(db.read)) {
    if (paths.has(path)) continue;
    const fix = `restore ${path}, or: scriptorium topic resolve ${id}`;
    found.push(warning(`topic ${id} is about ${path}, which does not exist`, fix, about("topic-page-missing", id)));
  }
  for (const { id, path, anchor_blob } of await topicsWithoutText(db.read)) {
    const message = `topic ${id} on ${path} refers to a text that is lost (${anchor_blob?.slice(0, 12)})`;
    found.push(problem(message, `scriptorium topic show ${id}; ${restore}`, about("topic-text-lost", id)));
  }
  for (const row of await openPageProposals(db.read)) {
    const { id, subject, topic_id, base_text, base_source_sha } = row;
    const reject = `scriptorium proposal reject ${id}`;
    if (!paths.has(subject)) {
      const message = `proposal ${id} changes ${subject}, which does not exist`;
      found.push(warning(message, `restore ${subject}, or: ${reject}`, about("proposal-page-missing", id)));
    }
    if (topic_id !== null && !ids.has(topic_id))
      found.push(
        problem(
          `proposal ${id} is for topic ${topic_id}, which does not exist`,
          reject,
          about("proposal-topic-missing", id),
        ),
      );
    if (base_text === null || row.text === null)
      found.push(problem(`proposal ${id} has lost its text`, reject, about("proposal-text-lost", id)));
    // Bytes that are not text were replaced when the page was read.
    else if (!isBlob(base_text, base_source_sha ?? "") && !base_text.includes("\ufffd"))
      found.push(
        problem(`proposal ${id} was made from another text than it names`, reject, about("proposal-differs", id)),
      );
  }
  return found.slice(0, mostNamed);
}

async function checkEvidence({ db }: CrewApp): Promise<Finding[]> {
  const { problem } = findingsOf("wiki", "references");
  const rebuilt = await newestOfKind(db.read, "index-rebuilt");
  const [decisions, handoffs, sources] = await Promise.all([
    decisionsWithoutEvent(db.read),
    handoffsWithoutEvent(db.read),
    sourcesWithoutEvent(db.read),
  ]);
  return [
    ...decisions.map(({ id, status, decided_by, decided_at }) =>
      problem(
        `proposal ${id} is ${status} by ${decided_by} (${decided_at}), but no event says so`,
        `scriptorium proposal show ${id}; ${restore}`,
        about("decision-without-event", id),
      ),
    ),
    ...handoffs.map(({ id, run, step, from_role, at }) =>
      problem(
        `step ${step} of run ${run}, by ${from_role} (${at}), has no event`,
        restore,
        about("handoff-without-event", id),
      ),
    ),
    // A rebuilt index takes sources from git, where they are named without an event.
    ...sources
      .filter(({ at }) => rebuilt === undefined || at > rebuilt.at)
      .map(({ path, added_by, at }) =>
        problem(
          `source ${path}, added by ${added_by} (${at}), has no event`,
          restore,
          about("source-without-event", path),
        ),
      ),
  ].slice(0, mostNamed);
}

const about = (kind: string, subject: string) => ({ kind, subject });

import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import type { RenderedPage } from "../../src/http/web-types.ts";
import type { Output } from "../client/call.ts";
import { clearDraft, loadDraft, saveDraft, useDraft } from "../client/draft.ts";
import { operationQuery } from "../client/query.ts";
import type { Span } from "./place.ts";

/** Selected words: offsets in the text of the page that has this blob. */
export type Passage = Span & { quote: string; source_sha: string };

/** A topic that is not sent yet: on some words, or without a passage on the whole page. */
export type TopicDraft = { id: string; kind: "change" | "question"; text: string; passage?: Passage | undefined };

export const newDraft = (passage?: Passage): TopicDraft => ({
  id: `draft-${crypto.getRandomValues(new Uint32Array(2)).join("")}`,
  kind: "change",
  text: "",
  passage,
});

const none: TopicDraft[] = [];
const keyOf = (path: string) => `topics ${path}`;
const listOf = (stored: TopicDraft[] | undefined) => (Array.isArray(stored) ? stored : none);

/** The unsent topics of a page. */
export const useTopicDrafts = (path: string): TopicDraft[] => listOf(useDraft<TopicDraft[]>(keyOf(path), none).value);

/** Keeps a draft; one without text is removed. */
export function keepTopicDraft(path: string, draft: TopicDraft): void {
  const drafts = listOf(loadDraft<TopicDraft[]>(keyOf(path)));
  const others = drafts.filter(({ id }) => id !== draft.id);
  const next = draft.text.trim() === "" ? others : [...others, draft];
  if (next.length > 0) saveDraft(keyOf(path), next);
  else clearDraft(keyOf(path));
}

/** Removes a draft that was sent, unless its text is another one by now. */
export function dropSentTopicDraft(path: string, id: string, sent: string): void {
  const draft = listOf(loadDraft<TopicDraft[]>(keyOf(path))).find((one) => one.id === id);
  if (draft?.text.trim() === sent.trim()) keepTopicDraft(path, { ...draft, text: "" });
}

type Found = Pick<Output<"find_passage">, "state" | "place" | "source_sha">;

/** Where the passages of drafts are in the text that is shown; a draft is absent until that is known. */
export function useDraftPlaces(page: RenderedPage, drafts: TopicDraft[]): Map<string, Found> {
  const moved = useMemo(
    () => drafts.filter(({ passage }) => passage && passage.source_sha !== page.source_sha),
    [drafts, page.source_sha],
  );
  const answers = useQueries({
    queries: moved.map(({ passage }) => ({
      ...operationQuery("find_passage", {
        source_path: page.path,
        start: passage?.start ?? 0,
        end: passage?.end ?? 1,
        source_sha: passage?.source_sha ?? "",
      }),
    })),
    combine: (results) => results.map(({ data }) => data),
  });
  return useMemo(() => {
    const found = new Map<string, Found>();
    for (const { id, passage } of drafts) {
      if (passage?.source_sha === page.source_sha)
        found.set(id, { state: "anchored", place: placeOf(passage), source_sha: page.source_sha });
    }
    for (const [at, { id }] of moved.entries()) {
      const answer = answers[at];
      if (answer?.source_sha === page.source_sha) found.set(id, answer);
    }
    return found;
  }, [page.source_sha, drafts, moved, answers]);
}

const placeOf = ({ start, end, quote }: Passage) => ({ start, end, line: 0, end_line: 0, heading: "", text: quote });

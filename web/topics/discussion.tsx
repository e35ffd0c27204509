import { useQueryClient } from "@tanstack/react-query";
import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { RenderedPage } from "../../src/http/web-types.ts";
import { boot } from "../boot.ts";
import { mayCall, type Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { say } from "../parts/toast.tsx";
import type { PageSearch } from "../routes.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { useAligned } from "./aligned.ts";
import { Composer, DraftCard } from "./composer.tsx";
import { offsetAt, paint, rangesOf, type Span } from "./place.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { Thread } from "./thread.tsx";
import {
  dropSentTopicDraft,
  keepTopicDraft,
  newDraft,
  type TopicDraft,
  useDraftPlaces,
  useTopicDrafts,
} from "./topic-drafts.ts";

type Props = {
  page: RenderedPage;
  body: RefObject<HTMLDivElement | null>;
  search: PageSearch;
  show(next: PageSearch): void;
  /** The draft that is open in the composer. */
  composing: TopicDraft | undefined;
  onCompose(draft: TopicDraft | undefined): void;
};
export type Topic = Output<"list_topics">["topics"][number];

const filters = { open: "Open", mine: "Mine", questions: "Questions", resolved: "Resolved" } as const;
type Filter = keyof typeof filters;

const fits = (topic: Topic, filter: Filter) => {
  if (filter === "resolved") return topic.status === "resolved";
  if (topic.status !== "open") return false;
  if (filter === "mine") return topic.created_by === boot.person.name;
  return filter === "open" || topic.kind === "question";
};

/** The topics of a page, each beside the passage it is about. */
export function Discussion({ page, body, search, show, composing, onCompose }: Props) {
  const queries = useQueryClient();
  const all = useOperation("list_topics", { source_path: page.path, limit: 100 });
  const [filter, setFilter] = useState<Filter>("open");
  const active = search.topic;
  const topics = useMemo(
    () => (all.data?.topics ?? []).filter((topic) => fits(topic, filter) || topic.id === active).sort(byPlace),
    [all.data, filter, active],
  );
  const pointed = useRef(new Map<string, string | undefined>());
  const choose = useCallback(
    (id: string | undefined) => {
      onCompose(undefined);
      show({ side: "talk", topic: id });
    },
    [show, onCompose],
  );
  /** Chosen by a click on its card or words: the page stays where it is. */
  const point = useCallback(
    (id: string | undefined) => {
      if (id !== undefined) pointed.current.set(id, undefined);
      choose(id);
    },
    [choose],
  );
  const compose = (draft: TopicDraft) => {
    if (active !== undefined) show({ side: "talk" });
    onCompose(draft);
  };
  const kept = useTopicDrafts(page.path);
  const drafts = useMemo(
    () => [...kept.filter(({ id }) => id !== composing?.id), ...(composing ? [composing] : [])],
    [kept, composing],
  );
  const found = useDraftPlaces(page, drafts);
  const reanchor = useWrite("reanchor_topic", { onDone: () => say("Topic anchored to the selection") });
  const chosen = topics.find(({ id }) => id === active);

  const step = (by: number) => {
    const at = topics.findIndex(({ id }) => id === active);
    const next = topics[(at + by + topics.length) % Math.max(1, topics.length)]?.id;
    pointed.current.delete(next ?? "");
    choose(next);
  };
  const actions: Action[] = [
    {
      id: "topic-next",
      label: "Next topic",
      group: "Discussion",
      keys: "j",
      when: topics.length > 0,
      run: () => step(1),
    },
    {
      id: "topic-before",
      label: "Previous topic",
      group: "Discussion",
      keys: "k",
      when: topics.length > 0,
      run: () => step(-1),
    },
    {
      id: "topic-page",
      label: "Discuss the whole page",
      group: "Discussion",
      keys: "d p",
      operation: "open_topic",
      run: () => compose(newDraft()),
    },
    {
      id: "topic-close",
      label: "Close topic",
      group: "Discussion",
      keys: "Escape",
      when: active !== undefined || composing !== undefined,
      run: () => (composing ? onCompose(undefined) : choose(undefined)),
    },
  ];
  useActions(actions);

  const spans = useMemo(() => spansOf(page.source_sha, topics, found), [page.source_sha, topics, found]);
  const open = composing?.passage ? composing.id : active;
  usePainted(body, topics, spans, open, page.html);
  useChosenByClick(body, topics, spans, point);
  const column = useRef<HTMLDivElement>(null);
  useAligned({ column, body, spans, open, pointed, html: page.html });

  const anchored = topics.filter(({ anchor }) => anchor?.place);
  const loose = topics.filter(({ anchor }) => !anchor?.place);
  const isLost = ({ id, passage }: TopicDraft) => !passage || found.get(id)?.place === null;
  const panel = useRef<HTMLDivElement>(null);
  const hasLostWords = composing?.passage !== undefined && isLost(composing);
  // The composer leaves its words, which are gone, for the top of the column: someone who scrolled down would lose it.
  useEffect(() => {
    if (hasLostWords) panel.current?.querySelector(".composer")?.scrollIntoView({ block: "center" });
  }, [hasLostWords]);
  const cardOf = (draft: TopicDraft) =>
    draft.id === composing?.id ? (
      <Composer
        key={draft.id}
        path={page.path}
        draft={draft}
        found={found.get(draft.id)}
        onChange={(next) => {
          onCompose(next);
          keepTopicDraft(page.path, next);
        }}
        onClose={() => onCompose(undefined)}
        onDiscard={() => {
          onCompose(undefined);
          keepTopicDraft(page.path, { ...draft, text: "" });
        }}
        onOpened={(id, sent) => {
          pointed.current.set(id, draft.id);
          dropSentTopicDraft(page.path, draft.id, sent);
          choose(id);
        }}
      />
    ) : (
      <DraftCard key={draft.id} draft={draft} onContinue={() => compose(draft)} />
    );
  const needsWords = composing?.passage && found.has(composing.id) && !isCertain(found.get(composing.id)?.state);
  return (
    <div className="discussion" ref={panel}>
      <div className="discussion-head">
        <fieldset className="chips" aria-label="Filter">
          {(Object.keys(filters) as Filter[]).map((name) => (
            <button
              key={name}
              type="button"
              className="chip"
              aria-pressed={filter === name}
              data-on={filter === name || undefined}
              onClick={() => setFilter(name)}
            >
              {filters[name]}
            </button>
          ))}
        </fieldset>
        {mayCall("open_topic") && composing === undefined && (
          <button type="button" className="link-button small" onClick={() => compose(newDraft())}>
            Discuss the whole page
          </button>
        )}
      </div>
      {all.error && <Failed error={all.error} again={() => void all.refetch()} />}
      {all.isPending && <Loading lines={3} />}
      {drafts.filter(isLost).map(cardOf)}
      {all.data && topics.length === 0 && drafts.length === 0 && (
        <Empty title={filter === "open" ? "No topics yet" : "No topics"}>
          {mayCall("open_topic") ? (
            <p>Select text in the page to open a topic.</p>
          ) : (
            <p>Only collaborators and admins can open topics.</p>
          )}
        </Empty>
      )}
      {loose.map((topic) => (
        <Thread key={topic.id} topic={topic} isActive={topic.id === active} onChoose={point} />
      ))}
      <div className="threads" ref={column}>
        {drafts
          .filter((draft) => !isLost(draft))
          .map((draft) => (
            <div key={draft.id} className="thread-place" data-topic={draft.id}>
              {cardOf(draft)}
            </div>
          ))}
        {anchored.map((topic) => (
          <div key={topic.id} className="thread-place" data-topic={topic.id}>
            <Thread topic={topic} isActive={topic.id === active} onChoose={point} />
          </div>
        ))}
      </div>
      <SelectionBar
        body={body}
        reanchors={chosen?.anchor && chosen.status === "open" ? chosen.id : undefined}
        onReanchor={({ start, end, source_sha }) => {
          if (!chosen) return;
          reanchor.mutate(
            { id: chosen.id, start, end, source_sha },
            { onSuccess: () => void queries.invalidateQueries({ queryKey: ["list_topics"] }) },
          );
        }}
        label={needsWords ? "Use for draft" : "Discuss"}
        onDiscuss={(passage) => {
          if (!composing || !needsWords) return compose(newDraft(passage));
          const next = { ...composing, passage };
          onCompose(next);
          keepTopicDraft(page.path, next);
        }}
      />
    </div>
  );
}

const byPlace = (a: Topic, b: Topic) => (a.anchor?.place?.start ?? -1) - (b.anchor?.place?.start ?? -1);

const isCertain = (state: string | undefined) => state === "anchored" || state === "moved";

/** The words of topics and drafts. Offsets are valid only in the text that they were computed for. */
function spansOf(sourceSha: string, topics: Topic[], found: ReturnType<typeof useDraftPlaces>): Map<string, Span> {
  const spans = new Map<string, Span>();
  for (const { id, anchor, source_sha } of topics)
    if (anchor?.place && source_sha === sourceSha) spans.set(id, anchor.place);
  for (const [id, { place }] of found) if (place) spans.set(id, place);
  return spans;
}

function usePainted(
  body: Props["body"],
  topics: Topic[],
  spans: Map<string, Span>,
  open: string | undefined,
  html: string,
): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text of the page has other nodes to paint
  useLayoutEffect(() => {
    const root = body.current;
    if (!root) return;
    const of = (ids: string[]) =>
      ids.flatMap((id) => {
        const span = spans.get(id);
        return span ? rangesOf(root, span) : [];
      });
    const isDoubtful = ({ anchor }: Topic) => anchor?.state === "needs-review";
    const others = topics.filter(({ id }) => id !== open);
    const draw = () => {
      const sure = others.filter((topic) => topic.status === "open" && !isDoubtful(topic));
      paint("topic", of(sure.map(({ id }) => id)));
      paint("topic-doubt", of(others.filter(isDoubtful).map(({ id }) => id)));
      paint("topic-active", open === undefined ? [] : of([open]));
    };
    draw();
    // Colours in code replace the texts that were painted.
    const watch = new MutationObserver(draw);
    watch.observe(root, { childList: true, subtree: true });
    return () => {
      watch.disconnect();
      for (const name of ["topic", "topic-doubt", "topic-active"]) paint(name, []);
    };
  }, [body, topics, spans, open, html]);
}

function useChosenByClick(
  body: Props["body"],
  topics: Topic[],
  spans: Map<string, Span>,
  choose: (id: string) => void,
): void {
  useEffect(() => {
    const root = body.current;
    const onClick = (event: MouseEvent) => {
      if (!root || !getSelection()?.isCollapsed || (event.target as Element).closest("a")) return;
      const offset = offsetAt(root, event.clientX, event.clientY);
      if (offset === undefined) return;
      const [hit] = topics
        .flatMap(({ id }) => ({ id, span: spans.get(id) }))
        .filter(({ span }) => span && span.start <= offset && offset <= span.end)
        .sort((a, b) => length(a.span) - length(b.span));
      if (hit) choose(hit.id);
    };
    root?.addEventListener("click", onClick);
    return () => root?.removeEventListener("click", onClick);
  }, [body, topics, spans, choose]);
}

const length = (span: Span | undefined) => (span ? span.end - span.start : 0);

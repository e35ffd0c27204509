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
import { align } from "./align.ts";
import { Composer } from "./composer.tsx";
import { offsetAt, paint, rangesOf, type Span } from "./place.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { Thread } from "./thread.tsx";

/** A topic that is being written: on some words, or on the whole page. */
export type Draft = (Span & { quote: string }) | "page" | undefined;
type Props = {
  page: RenderedPage;
  body: RefObject<HTMLDivElement | null>;
  search: PageSearch;
  show(next: PageSearch): void;
  draft: Draft;
  onDraft(draft: Draft): void;
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
export function Discussion({ page, body, search, show, draft, onDraft: setDraft }: Props) {
  const queries = useQueryClient();
  const all = useOperation("list_topics", { source_path: page.path, limit: 100 });
  const [filter, setFilter] = useState<Filter>("open");
  const active = search.topic;
  const topics = useMemo(
    () => (all.data?.topics ?? []).filter((topic) => fits(topic, filter) || topic.id === active).sort(byPlace),
    [all.data, filter, active],
  );
  const choose = useCallback((id: string | undefined) => show({ side: "talk", topic: id }), [show]);
  const reanchor = useWrite("reanchor_topic", { onDone: () => say("Topic anchored to the selection") });
  const chosen = topics.find(({ id }) => id === active);

  const step = (by: number) => {
    const at = topics.findIndex(({ id }) => id === active);
    choose(topics[(at + by + topics.length) % Math.max(1, topics.length)]?.id);
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
      run: () => setDraft("page"),
    },
    {
      id: "topic-close",
      label: "Close topic",
      group: "Discussion",
      keys: "Escape",
      when: active !== undefined || draft !== undefined,
      run: () => (draft ? setDraft(undefined) : choose(undefined)),
    },
  ];
  useActions(actions);

  usePainted(body, topics, active, draft && draft !== "page" ? draft : undefined, page.html);
  useChosenByClick(body, topics, choose);
  const column = useRef<HTMLDivElement>(null);
  useAligned(column, body, topics, active, draft && draft !== "page" ? draft : undefined, page.html);

  const anchored = topics.filter(({ anchor }) => anchor?.place);
  const loose = topics.filter(({ anchor }) => !anchor?.place);
  return (
    <div className="discussion">
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
        {mayCall("open_topic") && draft === undefined && (
          <button type="button" className="link-button small" onClick={() => setDraft("page")}>
            Discuss the whole page
          </button>
        )}
      </div>
      {all.error && <Failed error={all.error} again={() => void all.refetch()} />}
      {all.isPending && <Loading lines={3} />}
      {draft === "page" && <Composer path={page.path} onClose={() => setDraft(undefined)} onOpened={choose} />}
      {all.data && topics.length === 0 && draft === undefined && (
        <Empty title={filter === "open" ? "No topics yet" : "No topics"}>
          {mayCall("open_topic") ? (
            <p>Select text in the page to open a topic.</p>
          ) : (
            <p>Only collaborators and admins can open topics.</p>
          )}
        </Empty>
      )}
      {loose.map((topic) => (
        <Thread key={topic.id} topic={topic} isActive={topic.id === active} onChoose={choose} />
      ))}
      <div className="threads" ref={column}>
        {draft && draft !== "page" && (
          <div className="thread-place" data-topic="draft">
            <Composer
              path={page.path}
              sourceSha={page.source_sha}
              span={draft}
              onClose={() => setDraft(undefined)}
              onOpened={choose}
            />
          </div>
        )}
        {anchored.map((topic) => (
          <div key={topic.id} className="thread-place" data-topic={topic.id}>
            <Thread topic={topic} isActive={topic.id === active} onChoose={choose} />
          </div>
        ))}
      </div>
      <SelectionBar
        body={body}
        reanchors={chosen?.anchor && chosen.status === "open" ? chosen.id : undefined}
        onReanchor={(span) => {
          if (!chosen) return;
          reanchor.mutate(
            { id: chosen.id, start: span.start, end: span.end, source_sha: page.source_sha },
            { onSuccess: () => void queries.invalidateQueries({ queryKey: ["list_topics"] }) },
          );
        }}
        onDiscuss={(span) => {
          choose(undefined);
          setDraft(span);
        }}
      />
    </div>
  );
}

const byPlace = (a: Topic, b: Topic) => (a.anchor?.place?.start ?? -1) - (b.anchor?.place?.start ?? -1);

function usePainted(
  body: Props["body"],
  topics: Topic[],
  active: string | undefined,
  draft: Span | undefined,
  html: string,
): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text of the page has other nodes to paint
  useLayoutEffect(() => {
    const root = body.current;
    if (!root) return;
    const of = (chosen: Topic[]) => chosen.flatMap(({ anchor }) => (anchor?.place ? rangesOf(root, anchor.place) : []));
    const draw = () => {
      paint(
        "topic",
        of(
          topics.filter(
            ({ id, anchor, status }) => id !== active && status === "open" && anchor?.state !== "needs-review",
          ),
        ),
      );
      paint("topic-doubt", of(topics.filter(({ id, anchor }) => id !== active && anchor?.state === "needs-review")));
      paint("topic-active", [...of(topics.filter(({ id }) => id === active)), ...(draft ? rangesOf(root, draft) : [])]);
    };
    draw();
    // Colours in code replace the texts that were painted.
    const watch = new MutationObserver(draw);
    watch.observe(root, { childList: true, subtree: true });
    return () => {
      watch.disconnect();
      for (const name of ["topic", "topic-doubt", "topic-active"]) paint(name, []);
    };
  }, [body, topics, active, draft, html]);

  useEffect(() => {
    const root = body.current;
    const place = topics.find(({ id }) => id === active)?.anchor?.place;
    const [first] = root && place ? rangesOf(root, place) : [];
    const box = first?.getBoundingClientRect();
    if (box && (box.top < 0 || box.bottom > innerHeight)) {
      scrollTo({ top: scrollY + box.top - innerHeight / 3, behavior: "smooth" });
    }
  }, [body, active, topics]);
}

function useChosenByClick(body: Props["body"], topics: Topic[], choose: (id: string) => void): void {
  useEffect(() => {
    const root = body.current;
    const onClick = (event: MouseEvent) => {
      if (!root || !getSelection()?.isCollapsed || (event.target as Element).closest("a")) return;
      const offset = offsetAt(root, event.clientX, event.clientY);
      if (offset === undefined) return;
      const hit = topics
        .filter(({ anchor }) => anchor?.place && anchor.place.start <= offset && offset <= anchor.place.end)
        .sort((a, b) => length(a) - length(b))[0];
      if (hit) choose(hit.id);
    };
    root?.addEventListener("click", onClick);
    return () => root?.removeEventListener("click", onClick);
  }, [body, topics, choose]);
}

const length = ({ anchor }: Topic) => (anchor?.place ? anchor.place.end - anchor.place.start : 0);

/** Moves each card beside its words, and again whenever a card or the text changes its size. */
function useAligned(
  column: RefObject<HTMLDivElement | null>,
  body: Props["body"],
  topics: Topic[],
  active: string | undefined,
  draft: Span | undefined,
  html: string,
): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text of the page has other places
  useLayoutEffect(() => {
    const place = () => {
      const [root, list] = [body.current, column.current];
      if (!root || !list) return;
      const elements = [...list.querySelectorAll<HTMLElement>("[data-topic]")];
      const isBeside = matchMedia("(min-width: 72rem)").matches;
      const top = list.getBoundingClientRect().top;
      const spans = new Map<string, Span | undefined>(topics.map(({ id, anchor }) => [id, anchor?.place ?? undefined]));
      spans.set("draft", draft);
      const cards = elements.map((element) => {
        const id = element.dataset.topic ?? "";
        const span = spans.get(id);
        const [first] = span ? rangesOf(root, span) : [];
        const wanted = first ? first.getBoundingClientRect().top - top : 0;
        return { id, wanted, height: element.offsetHeight };
      });
      const places = align(cards, draft ? "draft" : active);
      let end = 0;
      for (const [at, element] of elements.entries()) {
        const y = places.get(element.dataset.topic ?? "") ?? 0;
        element.style.position = isBeside ? "absolute" : "static";
        element.style.transform = isBeside ? `translateY(${Math.round(y)}px)` : "none";
        end = Math.max(end, y + (cards[at]?.height ?? 0));
      }
      list.style.minHeight = isBeside ? `${Math.round(end)}px` : "0";
    };
    place();
    const watch = new ResizeObserver(place);
    for (const element of column.current?.querySelectorAll("[data-topic]") ?? []) watch.observe(element);
    if (body.current) watch.observe(body.current);
    return () => watch.disconnect();
  }, [column, body, topics, active, draft, html]);
}

import { Checkbox } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useMemo, useRef, useState } from "react";
import type { TrustState } from "../../src/trust/state.ts";
import { boot } from "../boot.ts";
import { useOperation } from "../client/query.ts";
import { linkToHit } from "../graph/homes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { CornerDownLeft } from "../parts/icons.tsx";
import { addressOf } from "../parts/paths.ts";
import { withoutSigns } from "../parts/plain.ts";
import { Shown } from "../parts/shown.tsx";
import { isTrusted, isTrustState } from "../trust/filter.ts";
import { TrustLabel } from "../trust/states.tsx";
import { useAvailable } from "./actions.ts";
import { Keys } from "./keys.tsx";

type Choice = {
  key: string;
  kind: string;
  label: string;
  detail?: string;
  trust?: TrustState | undefined;
  keys?: string | undefined;
  run(): void;
};

const most = 8;
const mostTexts = 6;

/** Find and do anything: pages, tasks, what the texts say, and every action. */
export function Palette({ onClose }: { onClose(): void }) {
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const [isVerifiedOnly, setVerifiedOnly] = useState(false);
  const [wanted] = useDebouncedValue(text.trim(), 150);
  const list = useRef<HTMLDivElement>(null);
  const available = useAvailable();
  // A decision needs the focus in its panel or a click: Enter on a search result must not make it.
  const actions = useMemo(() => available.filter(({ within }) => within === undefined), [available]);
  const entries = useOperation("list_entries", { all: true });
  const pages = useOperation("list_pages", { others: true });
  const tasks = useOperation("list_todos", { limit: 200 });
  const runs = useOperation("list_runs", { limit: 100 });
  const topics = useOperation("list_topics", { limit: 100 });
  const hits = useOperation(
    "search",
    { query: wanted, limit: isVerifiedOnly ? 30 : mostTexts },
    { enabled: wanted.length > 2, keep: true },
  );

  const choices = useMemo((): Choice[] => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (candidate: string) => words.every((word) => candidate.toLowerCase().includes(word));
    const open = (to: string) => () => void navigate({ to });
    const found = (entries.data?.entries ?? [])
      .filter(({ id, title }) => fits(`${title} ${id}`))
      .slice(0, most)
      .map(({ id, title }) => ({ key: `e${id}`, kind: "Page", label: title, detail: id, run: open(`/entries/${id}`) }));
    const files = (pages.data?.pages ?? [])
      .filter(({ path }) => words.length > 0 && fits(path))
      .slice(0, most)
      .map(({ path }) => ({
        key: `p${path}`,
        kind: "Page",
        label: path.split("/").at(-1) ?? path,
        detail: path,
        run: open(`/pages/${path}`),
      }));
    const work = (tasks.data?.todos ?? [])
      .filter(({ id, title }) => words.length > 0 && fits(`${title} ${id}`))
      .slice(0, 5)
      .map(({ id, title, state }) => ({
        key: `t${id}`,
        kind: "Task",
        label: title,
        detail: state,
        run: open(`/tasks/${id}`),
      }));
    const carried = (runs.data?.runs ?? [])
      .filter(({ id, title }) => words.length > 0 && fits(`${title} ${id}`))
      .slice(0, 5)
      .map(({ id, title, state }) => ({
        key: `r${id}`,
        kind: "Run",
        label: title,
        detail: state,
        run: open(`/runs/${id}`),
      }));
    const talks = (topics.data?.topics ?? [])
      .filter(({ opening, anchor }) => words.length > 0 && fits(`${opening} ${anchor?.quote ?? ""}`))
      .slice(0, 5)
      .map(({ id, opening, source_path: path }) => ({
        key: `d${id}`,
        kind: "Topic",
        label: opening,
        detail: path,
        run: () => void navigate({ to: addressOf(path, boot.workspace.wiki), search: { topic: id } as never }),
      }));
    const doable = actions
      .filter(({ id, label, group }) => id !== "palette" && fits(`${label} ${group}`))
      .slice(0, words.length > 0 ? most : 6)
      .map(({ id, label, keys, run }) => ({ key: `a${id}`, kind: "Action", label, keys, run }));
    const inTexts =
      words.length === 0 || wanted.length <= 2
        ? []
        : (hits.data?.results ?? [])
            .filter(({ trust }) => !isVerifiedOnly || isTrusted(trust, "verified"))
            .slice(0, mostTexts)
            .map((hit) => ({
              key: `h${hit.type}:${hit.id}`,
              kind: "Text",
              label: hit.title || hit.id,
              detail: withoutSigns(hit.snippet.replace(/[«»]/g, "")),
              trust: isTrustState(hit.trust) ? hit.trust : undefined,
              run: () => void navigate(linkToHit(hit)),
            }));
    return [...found, ...files, ...talks, ...carried, ...work, ...doable, ...inTexts];
  }, [
    text,
    wanted,
    entries.data,
    pages.data,
    tasks.data,
    runs.data,
    topics.data,
    hits.data,
    isVerifiedOnly,
    actions,
    navigate,
  ]);

  const pick = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    choice.run();
  };
  const move = (by: number) => {
    const next = (chosen + by + choices.length) % Math.max(1, choices.length);
    setChosen(next);
    list.current?.children[next]?.scrollIntoView({ block: "nearest" });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Enter") pick(choices[chosen]);
    else return;
    event.preventDefault();
  };

  return (
    <Dialog
      onClose={onClose}
      withCloseButton={false}
      centered={false}
      yOffset="12vh"
      size="lg"
      padding={0}
      aria-label="Find anything"
    >
      <div className="palette">
        <input
          data-autofocus
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={choices[chosen] ? `choice-${chosen}` : undefined}
          aria-label="Find anything"
          placeholder="Pages, tasks, text, actions"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setChosen(0);
          }}
          onKeyDown={onKey}
        />
        <div id="palette-list" className="choices" role="listbox" aria-label="Results" ref={list} tabIndex={-1}>
          {choices.map((choice, at) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
            <div
              key={choice.key}
              id={`choice-${at}`}
              role="option"
              aria-selected={at === chosen}
              tabIndex={-1}
              onClick={() => pick(choice)}
              onMouseMove={() => setChosen(at)}
            >
              <span className="kind">{choice.kind}</span>
              <span className="label">
                <Shown text={choice.label} />
              </span>
              {choice.detail && (
                <span className="detail">
                  <Shown text={choice.detail} />
                </span>
              )}
              {choice.trust && <TrustLabel state={choice.trust} />}
              {choice.keys && <Keys keys={choice.keys} />}
              {at === chosen && <CornerDownLeft size={14} aria-hidden />}
            </div>
          ))}
        </div>
        {choices.length === 0 && <p className="hint">No results. Press Escape to close.</p>}
        {wanted.length > 2 && (
          <Checkbox
            size="xs"
            className="palette-filter"
            label="Verified text only"
            checked={isVerifiedOnly}
            onChange={(event) => setVerifiedOnly(event.currentTarget.checked)}
          />
        )}
      </div>
    </Dialog>
  );
}

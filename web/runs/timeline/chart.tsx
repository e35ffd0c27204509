import { useComputedColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type MouseEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Output } from "../../client/call.ts";
import { Maximize, ZoomIn, ZoomOut } from "../../parts/icons.tsx";
import { Shown } from "../../parts/shown.tsx";
import { duration } from "../../parts/time.tsx";
import { type Action, useActions } from "../../shell/actions.ts";
import { spellKeys } from "../../shell/keys.tsx";
import { axisHeight, labelWidth, laneHeight, paint } from "./paint.ts";
import { isThin, phaseWords } from "./phases.ts";
import { type Range, revealing, type Stage, stepFrom, within, zoomed } from "./scale.ts";

type Props = { data: Output<"run_timeline">; titles: Map<string, string> };

/**
 * One lane per worker, painted on a canvas of the size of the window on it. The stage under the pointer or the keys is
 * described below in words.
 */
export function Chart({ data, titles }: Props) {
  const { lanes, stages, now_ms: now } = data;
  const navigate = useNavigate();
  const scheme = useComputedColorScheme();
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [scrolled, setScrolled] = useState(0);
  const [zoom, setZoom] = useState<Range>();
  const [current, setCurrent] = useState<number>();
  const whole = Math.max(1, now);
  const range = zoom ?? { from: 0, to: whole };
  const stage = current === undefined ? undefined : stages[current];

  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another scheme has other colours
  useLayoutEffect(() => {
    if (canvas.current && size.width > 0) paint(canvas.current, { lanes, stages, range, now, size, scrolled, current });
  }, [lanes, stages, range.from, range.to, now, size, scrolled, current, scheme]);
  const latest = useRef({ range, whole });
  latest.current = { range, whole };
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { range, whole } = latest.current;
      const about = timeAt(event.clientX, element, range);
      setZoom(zoomed(range, event.deltaY < 0 ? 1.25 : 0.8, about, whole));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);

  const goTo = (at: number | undefined) => {
    const next = at === undefined ? undefined : stages[at];
    if (!next) return;
    setCurrent(at);
    if (zoom) setZoom(revealing(zoom, next, whole));
    const top = next.lane * laneHeight;
    const room = size.height - axisHeight;
    if (top < scrolled) frame.current?.scrollTo({ top });
    else if (top + laneHeight > scrolled + room) frame.current?.scrollTo({ top: top + laneHeight - room });
  };
  const zoomBy = (factor: number) =>
    setZoom(zoomed(range, factor, stage ? stage.start_ms : (range.from + range.to) / 2, whole));
  const actions: (Action & { icon: typeof ZoomIn })[] = [
    { id: "timeline-nearer", label: "Zoom in", group: "View", keys: "+", run: () => zoomBy(1.6), icon: ZoomIn },
    { id: "timeline-farther", label: "Zoom out", group: "View", keys: "-", run: () => zoomBy(1 / 1.6), icon: ZoomOut },
    {
      id: "timeline-whole",
      label: "Show the whole run",
      group: "View",
      keys: "0",
      run: () => setZoom(undefined),
      icon: Maximize,
    },
  ];
  useActions(actions);

  const stageAt = ({ clientX, clientY, currentTarget }: MouseEvent<HTMLElement>): number | undefined => {
    const lane = Math.floor((clientY - currentTarget.getBoundingClientRect().top - axisHeight + scrolled) / laneHeight);
    const time = timeAt(clientX, currentTarget, range);
    // A few pixels more: a short stage is one pixel wide.
    const near = ((range.to - range.from) / Math.max(1, size.width)) * 3;
    const hit = ({ lane: own, start_ms, end_ms }: Stage) =>
      own === lane && start_ms - near <= time && (end_ms ?? now) + near >= time;
    const found = stages.findIndex((one) => hit(one) && !isThin(one.phase));
    const any = found < 0 ? stages.findIndex(hit) : found;
    return any < 0 ? undefined : any;
  };
  const open = (at: number | undefined) => {
    const task = at === undefined ? undefined : stages[at]?.task;
    if (task) void navigate({ to: `/tasks/${task}` });
  };
  const onKey = (event: KeyboardEvent<HTMLElement>) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.key === "Enter") return open(current);
    const next = current === undefined && event.key.startsWith("Arrow") ? 0 : stepFrom(stages, current ?? 0, event.key);
    if (next === undefined) return;
    event.preventDefault();
    goTo(next);
  };
  const drag = useRef<{ x: number; range: Range; moved: boolean }>(undefined);

  return (
    <>
      <div className="timeline-box">
        <div className="timeline-tools">
          {actions.map(({ id, label, keys = "", run, icon: Icon }) => (
            <button key={id} type="button" aria-label={label} title={`${label} (${spellKeys(keys)})`} onClick={run}>
              <Icon size={16} aria-hidden />
            </button>
          ))}
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form */}
        <div
          ref={frame}
          className="timeline-frame"
          role="group"
          aria-label="Timeline by worker"
          aria-describedby="timeline-keys timeline-stage"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move between stages
          tabIndex={0}
          style={{ height: axisHeight + Math.max(2, lanes.length) * laneHeight + 2 }}
          onScroll={(event) => setScrolled(event.currentTarget.scrollTop)}
          onKeyDown={onKey}
          onPointerDown={(event) => {
            drag.current = { x: event.clientX, range, moved: false };
          }}
          onPointerMove={(event) => {
            const held = drag.current;
            if (held && zoom && event.buttons === 1) {
              const moved = held.x - event.clientX;
              if (Math.abs(moved) > 3) held.moved = true;
              const room = Math.max(1, size.width - labelWidth(size.width));
              const by = (moved / room) * (held.range.to - held.range.from);
              setZoom(within({ from: held.range.from + by, to: held.range.to + by }, whole));
              return;
            }
            const at = stageAt(event);
            if (at !== undefined) setCurrent(at);
          }}
          onClick={(event) => {
            if (!drag.current?.moved) open(stageAt(event));
          }}
        >
          <canvas ref={canvas} aria-hidden style={{ width: size.width, height: size.height }} />
          <div style={{ height: Math.max(0, lanes.length * laneHeight + axisHeight - size.height) }} />
        </div>
      </div>
      <p id="timeline-keys" className="sr-only">
        Arrow keys move between stages, Enter opens the task. Table shows the same stages as a table.
      </p>
      <p id="timeline-stage" className="timeline-stage" role="status">
        {stage ? <Described stage={stage} titles={titles} lane={lanes[stage.lane]?.name ?? ""} /> : hint}
      </p>
    </>
  );
}

const hint = <span className="muted">Point at a stage, or use the arrow keys.</span>;

function Described({ stage, titles, lane }: { stage: Stage; titles: Map<string, string>; lane: string }) {
  const { task, number, attempt, phase, start_ms, end_ms, outcome } = stage;
  return (
    <>
      <strong>{phaseWords[phase]}</strong>
      {task !== null && (
        <>
          {" "}
          of task {number} <Shown text={titles.get(task) ?? ""} />, attempt {attempt}
        </>
      )}
      : {end_ms === null ? "in progress" : duration(end_ms - start_ms)}
      <span className="muted">
        {" "}
        {lane}, {duration(start_ms)} after the start{outcome && `, ${outcome}`}
      </span>
    </>
  );
}

function timeAt(clientX: number, element: HTMLElement, { from, to }: Range): number {
  const { left, width } = element.getBoundingClientRect();
  const label = labelWidth(width);
  return from + ((clientX - left - label) / Math.max(1, width - label)) * (to - from);
}

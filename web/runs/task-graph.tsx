import "../style/task-graph.css";
import { useComputedColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type MouseEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { LocateFixed, Maximize, ZoomIn, ZoomOut } from "../parts/icons.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { spellKeys } from "../shell/keys.tsx";
import { useCovered } from "./task-graph/covered.ts";
import { newEye } from "./task-graph/eye.ts";
import { listenToGestures } from "./task-graph/gestures.ts";
import { TaskMap } from "./task-graph/map.tsx";
import { nameOf, TaskNode } from "./task-graph/node.tsx";
import { coloursOf, legibleFor, paint } from "./task-graph/paint.ts";
import { type Box, boxAt, boxesIn, boxesOf, placesOf, stepFrom, type Task } from "./task-graph/scene.ts";
import { areaInSight, centred, contains, farthest, fitted, revealing, zoomedAt } from "./task-graph/view.ts";

/** From so many on a map of the whole helps. */
const many = 24;
/** The initial zoom of a run that is too large to fit at a readable size. */
const reading = 0.7;

/**
 * The tasks of a run and what each waits for. Only tasks in sight stand in the document, as links; lines are
 * painted. Moving the view moves one layer, and React hears of it when other tasks come into sight.
 */
export function TaskGraph({ tasks }: { tasks: Task[] }) {
  const navigate = useNavigate();
  const scheme = useComputedColorScheme();
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const layer = useRef<HTMLDivElement>(null);
  const lit = useRef<string>(undefined);
  const wanted = useRef<string>(undefined);
  const [eye] = useState(newEye);
  const legible = legibleFor(tasks.length);
  const [area, cover] = useCovered(legible);
  const [isWhole, setWhole] = useState(true);
  const [current, setCurrent] = useState(tasks[0]?.number);

  const shape = tasks.map(({ number, depends_on: dependsOn }) => `${number}<${dependsOn.join()}`).join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: tasks are placed again only when the plan itself changes
  const places = useMemo(() => placesOf(tasks), [shape]);
  const boxes = useMemo(() => boxesOf(tasks, places), [tasks, places]);
  const shown = useMemo(
    () => (area ? boxesIn(boxes, area) : []).concat(boxes.filter(({ task }) => task.number === current)),
    [boxes, area, current],
  );

  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    let isFirst = true;
    const measure = () => {
      const size = { width: element.clientWidth, height: element.clientHeight };
      if (size.width === 0) return;
      eye.resize(size);
      if (!isFirst) return;
      isFirst = false;
      const view = fitted(places.bounds, size, reading);
      setWhole(contains(areaInSight(view, size), places.bounds));
      eye.look(view);
      cover(view, size);
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, [eye, places, cover]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another scheme has other colours
  useLayoutEffect(() => {
    if (!frame.current) return;
    const colours = coloursOf(frame.current);
    return eye.watch((view, size) => {
      if (layer.current) layer.current.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.zoom})`;
      if (canvas.current) paint(canvas.current, { lines: places.lines, boxes, view, size, colours, lit: lit.current });
      cover(view, size);
    });
  }, [eye, places, boxes, scheme, cover]);

  useEffect(() => (frame.current ? listenToGestures(frame.current, eye) : undefined), [eye]);
  useEffect(() => {
    if (wanted.current === undefined || wanted.current !== current) return;
    wanted.current = undefined;
    layer.current?.querySelector<HTMLElement>(`[data-number="${CSS.escape(current)}"]`)?.focus({ preventScroll: true });
  }, [current]);

  const goTo = (box: Box | undefined) => {
    if (!box) return;
    wanted.current = box.task.number;
    setCurrent(box.task.number);
    const view = eye.view();
    const middle = { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 };
    if (view.zoom < legible) eye.look(centred({ ...view, zoom: reading }, eye.size(), middle));
    else eye.look(revealing(view, eye.size(), box));
  };
  const zoomBy = (factor: number) => {
    const { width, height } = eye.size();
    eye.look(zoomedAt(eye.view(), { x: width / 2, y: height / 2 }, factor));
  };
  const busy = boxes.find(({ tone }) => tone === "busy");
  const actions: (Action & { icon: typeof ZoomIn })[] = [
    { id: "graph-nearer", label: "Zoom in", group: "View", keys: "+", run: () => zoomBy(1.4), icon: ZoomIn },
    { id: "graph-farther", label: "Zoom out", group: "View", keys: "-", run: () => zoomBy(1 / 1.4), icon: ZoomOut },
    {
      id: "graph-whole",
      label: "Show the whole run",
      group: "View",
      keys: "0",
      run: () => eye.look(fitted(places.bounds, eye.size(), farthest)),
      icon: Maximize,
    },
    {
      id: "graph-busy",
      label: "Go to running task",
      group: "View",
      keys: ".",
      when: busy !== undefined,
      run: () => goTo(busy),
      icon: LocateFixed,
    },
  ];
  useActions(actions);

  const numberOf = ({ target }: { target: EventTarget }) =>
    target instanceof Element ? target.closest<HTMLElement>(".task-node")?.dataset.number : undefined;
  const light = (number: string | undefined) => {
    if (lit.current === number) return;
    lit.current = number;
    eye.refresh();
  };
  const farBox = ({ clientX, clientY, currentTarget }: MouseEvent<HTMLElement>) => {
    const { x, y, zoom } = eye.view();
    const { left, top } = currentTarget.getBoundingClientRect();
    return zoom < legible ? boxAt(boxes, { x: (clientX - left - x) / zoom, y: (clientY - top - y) / zoom }) : undefined;
  };
  const onClick = (event: MouseEvent<HTMLElement>) => {
    const number = numberOf(event);
    const box = number === undefined ? farBox(event) : boxes.find(({ task }) => task.number === number);
    if (!box || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    // A task that is only typed has no page yet.
    if (box.task.id !== "") void navigate({ to: `/tasks/${box.task.id}` });
  };
  const onKey = (event: KeyboardEvent<HTMLElement>) => {
    const number = numberOf(event);
    const next = number === undefined ? undefined : stepFrom(boxes, number, event.key);
    if (!next) return;
    event.preventDefault();
    goTo(next);
  };

  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form
    <div className="task-flow" ref={frame} role="group" aria-label="Tasks and their dependencies">
      <p className="sr-only">Arrow keys move between tasks. The List tab has the same tasks as a table.</p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the links inside have the keys */}
      <div
        className="task-plane"
        onClick={onClick}
        onKeyDown={onKey}
        onFocus={(event) => light(numberOf(event))}
        onBlur={() => light(undefined)}
        onPointerOver={(event) => light(numberOf(event))}
        onPointerLeave={() => light(undefined)}
        onMouseMove={(event) => {
          const box = farBox(event);
          event.currentTarget.title = box ? nameOf(box.task) : "";
        }}
      >
        <canvas ref={canvas} aria-hidden />
        <div className="task-layer" ref={layer}>
          {[...new Set(shown)].map(({ task, left, top }) => (
            <TaskNode key={task.number} task={task} x={left} y={top} isStop={task.number === current} />
          ))}
        </div>
      </div>
      <div className="task-tools">
        {actions
          .filter(({ when = true }) => when)
          .map(({ id, label, keys = "", run, icon: Icon }) => (
            <button key={id} type="button" aria-label={label} title={`${label} (${spellKeys(keys)})`} onClick={run}>
              <Icon size={16} aria-hidden />
            </button>
          ))}
      </div>
      {!isWhole && tasks.length > many && <TaskMap eye={eye} boxes={boxes} bounds={places.bounds} scheme={scheme} />}
    </div>
  );
}

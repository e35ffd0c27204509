import { toneOf } from "../../tasks/states.ts";
import type { Run } from "../run.tsx";
import { layers } from "./layers.ts";
import { type Area, type Point, touches } from "./view.ts";

export type Task = Run["tasks"][number];
export type Tone = ReturnType<typeof toneOf>;
/** A task in its place. */
export type Box = Area & { task: Task; tone: Tone };
/** From the right of a task to the left of one that waits for it. */
export type Line = Area & { from: string; to: string; start: Point; end: Point };
export type Places = { at: Map<string, Point>; lines: Line[]; bounds: Area };

export const boxSize = { width: 200, height: 56 };

/** The position of each task. It depends on the plan only, not on the state of the run. */
export function placesOf(tasks: Task[]): Places {
  const at = new Map<string, Point>(
    layers(tasks.map(({ number, depends_on: dependsOn }) => ({ id: number, after: dependsOn }))).map(({ id, x, y }) => [
      id,
      { x, y },
    ]),
  );
  const lines = tasks.flatMap(({ number, depends_on: dependsOn }) =>
    dependsOn.flatMap((before) => {
      const from = at.get(before);
      const to = at.get(number);
      return from && to ? [lineOf(before, number, from, to)] : [];
    }),
  );
  const points = [...at.values()];
  const most = (of: (point: Point) => number) => points.reduce((high, point) => Math.max(high, of(point)), 0);
  const bounds = {
    left: 0,
    top: 0,
    right: most(({ x }) => x) + boxSize.width,
    bottom: most(({ y }) => y) + boxSize.height,
  };
  return { at, lines, bounds };
}

function lineOf(from: string, to: string, left: Point, right: Point): Line {
  const start = { x: left.x + boxSize.width, y: left.y + boxSize.height / 2 };
  const end = { x: right.x, y: right.y + boxSize.height / 2 };
  return {
    ...{ from, to, start, end },
    left: Math.min(start.x, end.x),
    right: Math.max(start.x, end.x),
    top: Math.min(start.y, end.y) - 1,
    bottom: Math.max(start.y, end.y) + 1,
  };
}

export const boxesOf = (tasks: Task[], { at }: Places): Box[] =>
  tasks.map((task) => {
    const { x, y } = at.get(task.number) ?? { x: 0, y: 0 };
    return {
      ...{ task, tone: toneOf(task.state) },
      ...{ left: x, top: y, right: x + boxSize.width, bottom: y + boxSize.height },
    };
  });

export const boxesIn = (boxes: Box[], area: Area): Box[] => boxes.filter((box) => touches(box, area));

export const boxAt = (boxes: Box[], { x, y }: Point): Box | undefined =>
  boxes.find(({ left, top, right, bottom }) => x >= left && x <= right && y >= top && y <= bottom);

type Direction = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown" | "Home" | "End";

/** The task an arrow leads to: left to what it waits for, right to what waits for it, up and down its column. */
export function stepFrom(boxes: Box[], number: string, direction: string): Box | undefined {
  const from = boxes.find(({ task }) => task.number === number);
  if (!from) return undefined;
  const column = () => boxes.filter(({ left }) => left === from.left).sort((a, b) => a.top - b.top);
  const nearestTo = (found: Box[]) =>
    found.sort((a, b) => Math.abs(a.top - from.top) - Math.abs(b.top - from.top) || a.left - b.left)[0];
  const leads: Record<Direction, () => Box | undefined> = {
    ArrowLeft: () => nearestTo(boxes.filter(({ task }) => from.task.depends_on.includes(task.number))),
    ArrowRight: () => nearestTo(boxes.filter(({ task }) => task.depends_on.includes(number))),
    ArrowUp: () => column().findLast(({ top }) => top < from.top),
    ArrowDown: () => column().find(({ top }) => top > from.top),
    Home: () => boxes[0],
    End: () => boxes.at(-1),
  };
  return direction in leads ? leads[direction as Direction]() : undefined;
}

import { type Box, boxesIn, type Line, type Tone } from "./scene.ts";
import { areaInSight, type Size, touches, type View } from "./view.ts";

export type Colours = Record<Tone | "line" | "lit", string>;

/** Below this tasks are painted as plain boxes and none stands in the document: their words cannot be read, and there are many. */
export const legibleFor = (tasks: number) => (tasks > 100 ? 0.5 : 0.3);
/** More lines than this say nothing from afar, and cost a frame each. */
const mostFromAfar = 1500;

export function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    ...{ good: of("--good"), busy: of("--busy"), bad: of("--bad"), off: of("--warn"), idle: of("--field") },
    ...{ line: of("--field"), lit: of("--accent") },
  };
}

type Picture = { lines: Line[]; boxes: Box[]; view: View; size: Size; colours: Colours; lit: string | undefined };

/** Paints the visible part: the lines and, when zoomed out, the tasks. */
export function paint(canvas: HTMLCanvasElement, { lines, boxes, view, size, colours, lit }: Picture): void {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.round(size.width * ratio);
  const height = Math.round(size.height * ratio);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  const scale = view.zoom * ratio;
  context.setTransform(scale, 0, 0, scale, view.x * ratio, view.y * ratio);

  const seen = areaInSight(view, size);
  const isFar = view.zoom < legibleFor(boxes.length);
  const visible = lines.filter((line) => touches(line, seen));
  const drawn = isFar && visible.length > mostFromAfar ? visible.filter(isShort) : visible;
  stroke(context, drawn, { colour: colours.line, width: 1 / view.zoom, alpha: isFar ? 0.3 : 0.75 });
  const shown = lit === undefined ? [] : visible.filter(({ from, to }) => from === lit || to === lit);
  stroke(context, shown, { colour: colours.lit, width: 2 / view.zoom, alpha: 1 });
  if (isFar) fill(context, boxesIn(boxes, seen), colours);
}

const isShort = ({ start, end }: Line) => Math.abs(end.y - start.y) < 300;

type Pen = { colour: string; width: number; alpha: number };

function stroke(context: CanvasRenderingContext2D, lines: Line[], { colour, width, alpha }: Pen): void {
  if (lines.length === 0) return;
  context.beginPath();
  for (const { start, end } of lines) {
    const bend = Math.max(20, Math.min(60, (end.x - start.x) / 2));
    context.moveTo(start.x, start.y);
    context.bezierCurveTo(start.x + bend, start.y, end.x - bend, end.y, end.x, end.y);
  }
  Object.assign(context, { strokeStyle: colour, lineWidth: width, globalAlpha: alpha });
  context.stroke();
  context.globalAlpha = 1;
}

function fill(context: CanvasRenderingContext2D, boxes: Box[], colours: Colours): void {
  for (const tone of ["idle", "off", "good", "busy", "bad"] as const) {
    context.fillStyle = colours[tone];
    for (const { left, top, right, bottom, ...box } of boxes)
      if (box.tone === tone) context.fillRect(left, top, right - left, bottom - top);
  }
}

/** The whole run, as small as the map of it. */
export function paintMap(canvas: HTMLCanvasElement, boxes: Box[], { x, y }: { x: number; y: number }, of: Colours) {
  const ratio = window.devicePixelRatio || 1;
  Object.assign(canvas, { width: canvas.clientWidth * ratio, height: canvas.clientHeight * ratio });
  const context = canvas.getContext("2d");
  context?.setTransform(x * ratio, 0, 0, y * ratio, 0, 0);
  if (context) fill(context, boxes, of);
}

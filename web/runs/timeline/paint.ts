import { duration } from "../../parts/time.tsx";
import { isThin, phaseColours } from "./phases.ts";
import { type Range, type Stage, ticksOf } from "./scale.ts";

export const laneHeight = 26;
export const axisHeight = 24;
export const labelWidth = (width: number) => (width < 600 ? 84 : 150);

type Picture = {
  lanes: { name: string }[];
  stages: Stage[];
  range: Range;
  now: number;
  size: { width: number; height: number };
  scrolled: number;
  current: number | undefined;
};

/** Paints the lanes in sight; what is outside is skipped, so thousands of stages take one frame. */
export function paint(
  canvas: HTMLCanvasElement,
  { lanes, stages, range, now, size, scrolled, current }: Picture,
): void {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  if (!context) return;
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const left = labelWidth(size.width);
  const x = (ms: number) => left + ((ms - range.from) / Math.max(1, range.to - range.from)) * (size.width - left);
  const top = (lane: number) => axisHeight + lane * laneHeight - scrolled;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  context.font = `12px ${colour("--sans")}`;
  context.textBaseline = "middle";

  const seen = lanes.map((_, lane) => lane).filter((lane) => top(lane) > -laneHeight && top(lane) < size.height);
  context.fillStyle = colour("--sunken");
  for (const lane of seen) if (lane % 2 === 1) context.fillRect(0, top(lane), size.width, laneHeight);
  const ticks = ticksOf(range, (size.width - left) / 90);
  context.fillStyle = colour("--line");
  for (const tick of ticks) context.fillRect(x(tick), axisHeight, 1, size.height);

  context.save();
  context.beginPath();
  context.rect(left, axisHeight, size.width - left, size.height - axisHeight);
  context.clip();
  const first = seen[0] ?? 0;
  const last = seen.at(-1) ?? -1;
  const tones = new Map(Object.values(phaseColours).map((name) => [name, colour(name)]));
  const bad = colour("--bad");
  for (const [at, { lane, phase, start_ms: start, end_ms: end, outcome }] of stages.entries()) {
    if (lane < first || lane > last || start > range.to || (end ?? now) < range.from) continue;
    const from = x(start);
    const length = Math.max(1, x(end ?? now) - from);
    context.fillStyle = tones.get(phaseColours[phase]) ?? "";
    if (isThin(phase)) context.fillRect(from, top(lane) + laneHeight - 5, length, 2);
    else context.fillRect(from, top(lane) + 5, length, laneHeight - 11);
    if (outcome === "failed") {
      context.fillStyle = bad;
      context.fillRect(from + length - Math.min(3, length), top(lane) + 2, 3, laneHeight - 5);
    }
    if (at === current) {
      context.strokeStyle = colour("--ink");
      context.lineWidth = 2;
      context.strokeRect(from - 1, top(lane) + 2, length + 2, laneHeight - 5);
    }
  }
  context.restore();

  context.fillStyle = colour("--paper");
  context.fillRect(0, 0, size.width, axisHeight);
  context.fillStyle = colour("--muted");
  for (const tick of ticks) {
    const label = tick === 0 ? "0" : clock(tick);
    const at = x(tick);
    if (at + context.measureText(label).width < size.width) context.fillText(label, at + 3, axisHeight / 2);
  }
  context.fillStyle = colour("--ink");
  for (const lane of seen) {
    if (top(lane) < axisHeight - laneHeight / 2) continue;
    context.fillText(shortened(context, lanes[lane]?.name ?? "", left - 12), 6, top(lane) + laneHeight / 2);
  }
}

function shortened(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > room) end--;
  return `${text.slice(0, end)}…`;
}

/** Ticks every 30 s need seconds: `duration` rounds 90 s and 120 s to the same minutes. */
function clock(ms: number): string {
  if (ms < 60_000) return duration(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes, seconds] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000), Math.round(ms / 1000) % 60];
  return hours > 0 ? `${hours}:${two(minutes % 60)} h` : `${minutes}:${two(seconds)} min`;
}

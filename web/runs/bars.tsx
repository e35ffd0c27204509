import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

type Props = {
  title: string;
  bars: { label: string; value: number }[];
  /** How a value is written. */
  spell?: (value: number) => string;
  /** The top of the scale, when it is known. */
  most?: number;
};

const height = 180;

/** Values side by side. */
export function Bars({ title, bars, spell = String, most }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef({ bars, spell });
  drawn.current = { bars, spell };
  const shape = `${most} ${bars.map(({ label, value }) => `${label}:${value}`).join(" ")}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is drawn again when a bar has changed
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const chart = new uPlot(
      optionsOf(element, drawn.current, most),
      [bars.map((_, at) => at), bars.map(({ value }) => value)],
      element,
    );
    const watch = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      chart.destroy();
    };
  }, [shape]);
  const words = bars.slice(0, 40).map(({ label, value }) => `${label} ${spell(value)}`);
  return (
    <figure className="chart">
      <figcaption>{title}</figcaption>
      <div ref={place} role="img" aria-label={`${title}: ${words.join(", ")}`} />
    </figure>
  );
}

function optionsOf(
  element: HTMLElement,
  { bars, spell }: Required<Pick<Props, "bars" | "spell">>,
  most: number | undefined,
): uPlot.Options {
  const tone = (name: string) => getComputedStyle(element).getPropertyValue(name).trim();
  const font = `12px ${tone("--sans")}`;
  const axis = { font, stroke: tone("--muted"), grid: { stroke: tone("--line"), width: 1 }, ticks: { show: false } };
  const highest = most ?? Math.max(1e-9, ...bars.map(({ value }) => value)) * 1.1;
  const paths = uPlot.paths.bars?.({ size: [0.6, 36] });
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, range: [-0.6, bars.length - 0.4] }, y: { range: [0, highest] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        incrs: [1, 2, 5, 10, 50, 100, 500],
        values: (_, ticks) => ticks.map((tick) => bars[tick]?.label ?? ""),
      },
      { ...axis, size: 70, values: (_, ticks) => ticks.map(spell) },
    ],
    series: [
      {},
      { fill: tone("--accent"), stroke: tone("--accent"), points: { show: false }, ...(paths ? { paths } : {}) },
    ],
  };
}

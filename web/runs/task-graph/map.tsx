import { type PointerEvent, useEffect, useRef } from "react";
import type { Eye } from "./eye.ts";
import { coloursOf, paintMap } from "./paint.ts";
import type { Box } from "./scene.ts";
import { type Area, areaInSight, centred } from "./view.ts";

type Props = { eye: Eye; boxes: Box[]; bounds: Area; scheme: string };

/** The whole run at a glance, and where in it the reader is. It is for the eye; keys have the tasks themselves. */
export function TaskMap({ eye, boxes, bounds, scheme }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const here = useRef<HTMLDivElement>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another scheme has other colours
  useEffect(() => {
    if (canvas.current) paintMap(canvas.current, boxes, scaleOf(canvas.current, bounds), coloursOf(canvas.current));
  }, [boxes, bounds, scheme]);
  useEffect(
    () =>
      eye.watch((view, size) => {
        if (!canvas.current || !here.current) return;
        const seen = areaInSight(view, size);
        const { x, y } = scaleOf(canvas.current, bounds);
        Object.assign(here.current.style, {
          transform: `translate(${seen.left * x}px, ${seen.top * y}px)`,
          width: `${(seen.right - seen.left) * x}px`,
          height: `${(seen.bottom - seen.top) * y}px`,
        });
      }),
    [eye, bounds],
  );

  const onPoint = (event: PointerEvent<HTMLDivElement>) => {
    if (event.buttons !== 1 || !canvas.current) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const { left, top } = canvas.current.getBoundingClientRect();
    const { x, y } = scaleOf(canvas.current, bounds);
    eye.look(centred(eye.view(), eye.size(), { x: (event.clientX - left) / x, y: (event.clientY - top) / y }));
  };
  return (
    <div className="task-map" aria-hidden onPointerDown={onPoint} onPointerMove={onPoint}>
      <canvas ref={canvas} />
      <div className="task-map-here" ref={here} />
    </div>
  );
}

const scaleOf = ({ clientWidth, clientHeight }: HTMLElement, { right, bottom }: Area) => ({
  x: clientWidth / right,
  y: clientHeight / bottom,
});

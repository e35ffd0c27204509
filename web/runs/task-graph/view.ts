/** The viewport of a drawing: a point p of it is at p × zoom + (x, y) on the screen. */
export type View = { x: number; y: number; zoom: number };
export type Size = { width: number; height: number };
export type Area = { left: number; top: number; right: number; bottom: number };
export type Point = { x: number; y: number };

export const nearest = 2;
export const farthest = 0.05;

/** The part of the drawing that is in sight, grown by `margin` on every side. */
export const areaInSight = ({ x, y, zoom }: View, { width, height }: Size, margin = 0): Area => ({
  left: -x / zoom - margin,
  top: -y / zoom - margin,
  right: (width - x) / zoom + margin,
  bottom: (height - y) / zoom + margin,
});

export const contains = (outer: Area, inner: Area): boolean =>
  outer.left <= inner.left && outer.top <= inner.top && outer.right >= inner.right && outer.bottom >= inner.bottom;

export const touches = (one: Area, other: Area): boolean =>
  one.left < other.right && one.right > other.left && one.top < other.bottom && one.bottom > other.top;

/** Nearer or farther, with what is under `point` staying there. */
export function zoomedAt(view: View, point: Point, factor: number): View {
  const zoom = Math.min(nearest, Math.max(farthest, view.zoom * factor));
  const by = zoom / view.zoom;
  return { x: point.x - (point.x - view.x) * by, y: point.y - (point.y - view.y) * by, zoom };
}

/** The whole of it in the middle, no smaller than can be read; if that is too large, its beginning. */
export function fitted(bounds: Area, size: Size, least: number): View {
  const pad = 24;
  const wide = bounds.right - bounds.left;
  const high = bounds.bottom - bounds.top;
  const wanted = Math.min((size.width - 2 * pad) / wide, (size.height - 2 * pad) / high, 1);
  const zoom = Math.max(wanted, least);
  const at = (room: number, length: number, from: number) =>
    (length * zoom <= room - pad ? (room - length * zoom) / 2 : pad) - from * zoom;
  return { x: at(size.width, wide, bounds.left), y: at(size.height, high, bounds.top), zoom };
}

/** Moved no farther than needed for `area` to be in sight. */
export function revealing(view: View, size: Size, area: Area): View {
  const pad = 24;
  const by = (from: number, to: number, room: number) =>
    from < pad ? pad - from : to > room - pad ? Math.max(room - pad - to, pad - from) : 0;
  const { x, y, zoom } = view;
  return {
    x: x + by(area.left * zoom + x, area.right * zoom + x, size.width),
    y: y + by(area.top * zoom + y, area.bottom * zoom + y, size.height),
    zoom,
  };
}

export function centred({ zoom }: View, size: Size, { x, y }: Point): View {
  return { x: size.width / 2 - x * zoom, y: size.height / 2 - y * zoom, zoom };
}

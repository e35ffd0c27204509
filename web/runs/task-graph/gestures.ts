import { type Point, type View, zoomedAt } from "./view.ts";

type Eye = { view(): View; look(view: View): void };

const threshold = 4;

/**
 * Dragging moves the drawing, two fingers or the wheel with Ctrl bring it nearer, the wheel alone moves it.
 * A drag that began on a task does not open it.
 */
export function listenToGestures(element: HTMLElement, { view, look }: Eye): () => void {
  const fingers = new Map<number, Point>();
  let began: Point | undefined;
  let isDragging = false;

  const pointOf = ({ clientX, clientY }: MouseEvent): Point => {
    const { left, top } = element.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };
  const isOurs = ({ target }: Event) => target instanceof Element && target.closest(".task-tools, .task-map") === null;

  function onDown(event: PointerEvent): void {
    if (event.button !== 0 || !isOurs(event)) return;
    fingers.set(event.pointerId, pointOf(event));
    began = pointOf(event);
    isDragging = false;
  }

  function onMove(event: PointerEvent): void {
    const before = fingers.get(event.pointerId);
    if (!before || !began) return;
    const now = pointOf(event);
    if (!isDragging && fingers.size === 1 && Math.hypot(now.x - began.x, now.y - began.y) < threshold) return;
    if (!isDragging) {
      isDragging = true;
      element.dataset.dragging = "";
    }
    // The element under the finger may be removed while dragging, so the frame captures the pointer.
    if (!element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
    const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
    fingers.set(event.pointerId, now);
    const { x, y, zoom } = view();
    const moved = { x: x + (now.x - before.x), y: y + (now.y - before.y), zoom };
    const [other] = others;
    look(other ? pinched(view(), before, now, other) : moved);
  }

  function onUp(event: PointerEvent): void {
    fingers.delete(event.pointerId);
    if (fingers.size > 0) return;
    delete element.dataset.dragging;
    // The click that ends a drag comes right after this.
    setTimeout(() => {
      isDragging = false;
    });
  }

  function onClick(event: MouseEvent): void {
    if (!isDragging) return;
    event.preventDefault();
    event.stopPropagation();
  }

  function onWheel(event: WheelEvent): void {
    if (!isOurs(event)) return;
    event.preventDefault();
    const step = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const { x, y, zoom } = view();
    if (event.ctrlKey || event.metaKey) look(zoomedAt(view(), pointOf(event), Math.exp(-event.deltaY * step * 0.006)));
    else if (event.shiftKey) look({ x: x - event.deltaY * step, y, zoom });
    else look({ x: x - event.deltaX * step, y: y - event.deltaY * step, zoom });
  }

  const stop = new AbortController();
  const { signal } = stop;
  element.addEventListener("pointerdown", onDown, { signal });
  element.addEventListener("pointermove", onMove, { signal });
  element.addEventListener("pointerup", onUp, { signal });
  element.addEventListener("pointercancel", onUp, { signal });
  element.addEventListener("click", onClick, { signal, capture: true });
  element.addEventListener("wheel", onWheel, { signal, passive: false });
  return () => stop.abort();
}

function pinched(view: View, before: Point, now: Point, other: Point): View {
  const apart = (one: Point) => Math.max(1, Math.hypot(one.x - other.x, one.y - other.y));
  const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
  const moved = { ...view, x: view.x + (now.x - before.x) / 2, y: view.y + (now.y - before.y) / 2 };
  return zoomedAt(moved, middle, apart(now) / apart(before));
}

import type { Size, View } from "./view.ts";

type Watcher = (view: View, size: Size) => void;

/** The current viewport. Subscribers are called at most once a frame, without React. */
export type Eye = {
  view(): View;
  size(): Size;
  look(view: View): void;
  resize(size: Size): void;
  /** Something else in the picture changed. */
  refresh(): void;
  watch(watcher: Watcher): () => void;
};

export function newEye(): Eye {
  let view: View = { x: 0, y: 0, zoom: 1 };
  let size: Size = { width: 0, height: 0 };
  let isDue = false;
  const watchers = new Set<Watcher>();
  const draw = () => {
    isDue = false;
    for (const watcher of watchers) watcher(view, size);
  };
  const refresh = () => {
    if (!isDue) requestAnimationFrame(draw);
    isDue = true;
  };
  return {
    view: () => view,
    size: () => size,
    look(next) {
      view = next;
      refresh();
    },
    resize(next) {
      size = next;
      refresh();
    },
    refresh,
    watch(watcher) {
      watchers.add(watcher);
      refresh();
      return () => void watchers.delete(watcher);
    },
  };
}

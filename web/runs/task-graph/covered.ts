import { useCallback, useRef, useState } from "react";
import { type Area, areaInSight, contains, type Size, type View } from "./view.ts";

/** How far around what is in sight tasks stand in the document, so that they are there when they come into sight. */
const margin = 200;

/** The part of the drawing whose tasks stand in the document, none from afar; and how it follows the view. */
export function useCovered(legible: number): [Area | undefined, (view: View, size: Size) => void] {
  const [area, setArea] = useState<Area>();
  const known = useRef<Area>(undefined);
  const cover = useCallback(
    (view: View, size: Size) => {
      const isCovered = known.current !== undefined && contains(known.current, areaInSight(view, size));
      const wanted = view.zoom < legible ? undefined : isCovered ? known.current : areaInSight(view, size, margin);
      // React is asked only when it has something to do: it would commit even to find that nothing changed.
      if (wanted === known.current) return;
      known.current = wanted;
      setArea(wanted);
    },
    [legible],
  );
  return [area, cover];
}

import { useDebouncedValue } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { boot } from "../boot.ts";
import { useOperation } from "../client/query.ts";
import { addressOf } from "../parts/paths.ts";
import { Shown } from "../parts/shown.tsx";
import { startCreating } from "./creating.ts";

type Place = { path: string; from?: string | undefined };

/** Whether a page can be at this path; undefined until the server has said so about what is typed now. */
export function usePlace({ path, from }: Place) {
  const [asked] = useDebouncedValue(path, 200);
  const isAsked = asked !== "" && asked !== from;
  const place = useOperation(
    "check_page_path",
    { path: asked, ...(from === undefined ? {} : { from }) },
    { enabled: isAsked },
  );
  return asked === path && isAsked ? place.data : undefined;
}

/** What is wrong with the path, and the way on. */
export function PlaceStatus({ path, place, free }: { path: string; place: ReturnType<typeof usePlace>; free: string }) {
  return (
    <p className={place && !place.free ? "place-status bad" : "place-status"} role="status">
      {place?.free && free}
      {place && !place.free && (
        <>
          <Shown text={place.problem ?? ""} />.{" "}
          {(place.reason === "exists" || place.reason === "entry") && (
            <Link to={addressOf(path, boot.workspace.wiki)} onClick={() => startCreating(undefined)}>
              Open it
            </Link>
          )}
          {place.reason === "section" && (
            <button
              type="button"
              className="link-button"
              onClick={() => startCreating({ kind: "section", id: idOf(path) })}
            >
              Propose the section
            </button>
          )}
        </>
      )}
    </p>
  );
}

const idOf = (path: string) => path.slice(boot.workspace.wiki.length + 1).replace(/\.(md|markdown)$/, "");

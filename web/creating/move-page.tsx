import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call, type Output } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading, Problem } from "../parts/state.tsx";
import { countOf } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";
import { PlaceStatus, usePlace } from "./place-status.tsx";

/** Renames or moves a page after showing every link that changes. */
export function MovePage({ path, onClose }: { path: string; onClose(): void }) {
  const navigate = useNavigate();
  const [to, setTo] = useState(path);
  const place = usePlace({ path: to, from: path });
  const isFree = place?.free === true;
  const preview = useQuery({
    queryKey: ["move preview", path, to],
    queryFn: ({ signal }) => call("move_page", { path, new_path: to }, signal),
    enabled: isFree,
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });
  const [trouble, setTrouble] = useState<string>();
  const move = useWrite("move_page", {
    onDone(done) {
      onClose();
      const count = done.relinked.length;
      say(`Moved to ${done.new_path}${count > 0 ? `; links changed in ${countOf(count, "page", "pages")}` : ""}`);
      void navigate({ to: `/pages/${done.new_path}`, replace: true });
    },
    onRefused({ message, status }) {
      setTrouble(message);
      if (status === 409) void preview.refetch();
      return true;
    },
  });
  const shown = isFree ? preview.data : undefined;
  const submit = () => {
    setTrouble(undefined);
    if (shown && !move.isPending) move.mutate({ path, new_path: to, source_sha: shown.source_sha, confirm: true });
  };
  return (
    <Dialog onClose={onClose} title="Rename or move page" size="xl">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <TextInput
          label="Path"
          description="Another folder moves the page, another file name renames it."
          data-autofocus
          autoComplete="off"
          spellCheck={false}
          aria-describedby="move-place"
          value={to}
          onChange={(event) => setTo(event.currentTarget.value.trim())}
        />
        <div id="move-place">
          <PlaceStatus path={to} place={place} free={`${to} is free.`} />
        </div>
        {isFree && preview.error && <Failed error={preview.error} again={() => void preview.refetch()} />}
        {isFree && preview.isFetching && !shown && <Loading lines={4} />}
        {shown && <MovePreview preview={shown} />}
        <Problem text={trouble} />
        <div className="row-of-buttons">
          <Button type="submit" disabled={!shown} loading={move.isPending}>
            Move page
          </Button>
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

const mostLines = 20;

function MovePreview({ preview }: { preview: Output<"move_page"> }) {
  const { relinked, left, topics, proposals, perspectives, edges } = preview;
  const following = [
    topics > 0 && countOf(topics, "topic", "topics"),
    proposals > 0 && countOf(proposals, "open proposal", "open proposals"),
    perspectives > 0 && countOf(perspectives, "perspective", "perspectives"),
    edges > 0 && countOf(edges, "edge of the graph", "edges of the graph"),
  ].filter((words) => words !== false);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys must be able to do that
    <section className="effects" aria-label="What changes" tabIndex={0}>
      {relinked.length === 0 ? (
        <p>No page links to it.</p>
      ) : (
        <>
          <h2>Links change in {countOf(relinked.length, "page", "pages")}</h2>
          {relinked.map((page) => (
            <div key={page.path}>
              <h3>
                <Shown text={page.path} />
              </h3>
              <ul className="line-changes">
                {page.lines.slice(0, mostLines).map(({ line, before, after }) => (
                  <li key={line}>
                    <span className="muted">Line {line}</span>
                    <del>
                      <Shown text={before} />
                    </del>
                    <ins>
                      <Shown text={after} />
                    </ins>
                  </li>
                ))}
              </ul>
              {page.lines.length > mostLines && <p className="hint">and {page.lines.length - mostLines} more lines</p>}
            </div>
          ))}
        </>
      )}
      {following.length > 0 && <p>These follow the page: {following.join(", ")}.</p>}
      {left.length > 0 && (
        <>
          <h2>These links stay and will lead nowhere</h2>
          <ul>
            {left.map(({ path, reason }) => (
              <li key={path}>
                <Shown text={path} />: <Shown text={reason} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

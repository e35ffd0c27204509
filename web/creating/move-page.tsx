import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call, type Output } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Failed, Loading, Problem } from "../parts/state.tsx";
import { countOf } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";
import { ChangedLinks } from "./changed-links.tsx";
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
        {shown && <ChangedLinks {...shown} following={following(shown)} />}
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

/** What follows the page besides links. */
function following({ topics, proposals, perspectives, edges }: Output<"move_page">): string[] {
  return [
    topics > 0 && countOf(topics, "topic", "topics"),
    proposals > 0 && countOf(proposals, "open proposal", "open proposals"),
    perspectives > 0 && countOf(perspectives, "perspective", "perspectives"),
    edges > 0 && countOf(edges, "edge of the graph", "edges of the graph"),
  ].filter((words) => words !== false);
}

import { Button, NativeSelect } from "@mantine/core";
import { useState } from "react";
import type { RenderedPage } from "../../src/http/web-types.ts";
import { spellHidden } from "../../src/kernel/hidden.ts";
import { mayCall, Refusal } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Markdown } from "../parts/markdown.tsx";
import { Rendered } from "../parts/rendered.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";
import { AgentSetupLink } from "../topics/agent-setup-link.tsx";
import { JobState } from "../topics/job.tsx";

type Props = { page: RenderedPage; persona: string; onChoose(persona: string | undefined): void };

/** The perspectives of a page. */
export function PersonaChoice({
  page,
  persona,
  onChoose,
}: {
  page: RenderedPage;
  persona: string | undefined;
  onChoose(persona: string | undefined): void;
}) {
  const list = useOperation("list_personas", { source_path: page.path });
  const personas = list.data?.personas ?? [];
  if (personas.length === 0) return null;
  return (
    <NativeSelect
      size="xs"
      aria-label="Read as"
      value={persona ?? ""}
      onChange={(event) => onChoose(event.currentTarget.value || undefined)}
      data={[
        { value: "", label: "Read the original" },
        ...personas.map(({ name }) => ({ value: name, label: spellHidden(`Read as ${name}`) })),
      ]}
    />
  );
}

/** A perspective of the page, alone or next to its source. */
export function Perspective({ page, persona, onChoose }: Props) {
  const found = useOperation("show_perspective", { source_path: page.path, persona });
  const list = useOperation("list_personas", { source_path: page.path });
  const [isBeside, setBeside] = useState(false);
  const jobs = useOperation("list_jobs", { source_path: page.path, limit: 20 }, { enabled: mayCall("list_jobs") });
  const refresh = useWrite("refresh_perspective", {
    onDone: ({ status }) => status === "fresh" && say("Already up to date"),
  });
  const job = (jobs.data?.jobs ?? []).find(
    ({ kind, persona_name }) => kind === "perspective" && persona_name === persona,
  );
  const isBusy = job?.status === "queued" || job?.status === "running";
  const about = list.data?.personas.find(({ name }) => name === persona);
  const isMissing = found.error instanceof Refusal && found.error.status === 404;
  const again = mayCall("refresh_perspective") && !isBusy && (
    <Button
      size="xs"
      loading={refresh.isPending}
      onClick={() =>
        refresh.mutate({ source_path: page.path, persona, force: found.data !== undefined && !found.data.stale })
      }
    >
      {isMissing ? "Write it" : "Rewrite"}
    </Button>
  );
  return (
    <div className="perspective">
      <div className="perspective-head">
        <p>
          <strong>
            Perspective for <Shown text={persona} />
          </strong>
          {about && (
            <span className="muted">
              {" "}
              <Shown text={about.description} />
            </span>
          )}
        </p>
        <div className="row-of-buttons">
          {found.data && (
            <Button size="xs" variant="default" onClick={() => setBeside(!isBeside)}>
              {isBeside ? "Hide source" : "Show source"}
            </Button>
          )}
          {again}
          <Button size="xs" variant="default" onClick={() => onChoose(undefined)}>
            Read the original
          </Button>
        </div>
      </div>
      {refresh.error && (
        <p>
          <AgentSetupLink />
        </p>
      )}
      {job && (isBusy || job.status !== "succeeded") && <JobState id={job.id} />}
      {found.data?.stale && (
        <p className="note">
          Stale: the {found.data.because.join(" and the ")} changed since it was written, <Time at={found.data.at} />.
        </p>
      )}
      {isMissing && !isBusy && <p className="note">This page has no perspective for {persona} yet. Press Write it.</p>}
      {found.error && !isMissing && <Failed error={found.error} again={() => void found.refetch()} />}
      {found.isPending && <Loading />}
      {found.data && (
        <div className={isBeside ? "side-by-side" : ""}>
          <Markdown text={found.data.content} path={page.path} />
          {isBeside && (
            <section aria-label="Original page">
              <Rendered html={page.html} title={page.title} />
            </section>
          )}
        </div>
      )}
    </div>
  );
}

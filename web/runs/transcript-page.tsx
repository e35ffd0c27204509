import { Button } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { Input, Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { Failed, Loading } from "../parts/state.tsx";

type Transcripts = "run_transcript" | "job_transcript";
type Entry<N extends Transcripts> = Output<N>["entries"][number];

/** How often a transcript is read again while its agent works. */
const liveMs = 2000;

/** One page of a transcript: it follows an agent that works, and remembers where earlier entries begin. */
function useTranscriptPage<N extends Transcripts>(operation: N, of: Input<N>, before: string | undefined) {
  const [earlier, setEarlier] = useState<string>();
  const [isLive, setLive] = useState(before === undefined);
  const input = { ...of, limit: 50, characters: 4000, ...(before === undefined ? {} : { before }) } as Input<N>;
  const { data, error, refetch } = useOperation(operation, input, { everyMs: isLive ? liveMs : false });
  const follows = data !== undefined && before === undefined && data.running;
  if (data !== undefined && isLive !== follows) setLive(follows);
  const entries = (data?.entries ?? []) as Entry<N>[];
  const first = entries[0]?.n;
  return {
    ...{ data, error, refetch, follows, entries, earlier },
    showEarlier: data?.earlier && first !== undefined ? () => setEarlier(String(first)) : undefined,
  };
}

type Props<N extends Transcripts> = {
  operation: N;
  of: Input<N>;
  before?: string;
  /** For a transcript without entries. */
  none(isRunning: boolean): ReactNode;
  children(entry: Entry<N>): ReactNode;
};

/** The last entries of a transcript, or those before a position; earlier ones are read on request. */
export function TranscriptPage<N extends Transcripts>(props: Props<N>) {
  const { operation, of, before, none, children } = props;
  const page = useTranscriptPage(operation, of, before);
  if (page.error) return <Failed error={page.error} again={() => void page.refetch()} />;
  if (!page.data) return <Loading lines={3} />;
  if (page.entries.length === 0)
    return before === undefined ? <p className="muted">{none(page.data.running)}</p> : null;
  return (
    <>
      {page.earlier && <TranscriptPage {...props} before={page.earlier} />}
      {!page.earlier && page.showEarlier && (
        <Button size="xs" variant="default" onClick={page.showEarlier}>
          Earlier entries
        </Button>
      )}
      <ol>
        {page.entries.map((entry) => (
          <li key={entry.n} data-kind={entry.kind}>
            {children(entry)}
          </li>
        ))}
      </ol>
      {page.follows && (
        <p className="muted small" role="status">
          An agent is working.
        </p>
      )}
    </>
  );
}

import { Button } from "@mantine/core";
import { useState } from "react";
import { useOperation } from "../client/query.ts";
import { Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { EntryBody } from "../runs/transcript.tsx";

const liveMs = 1500;

/** What the agent of a job was sent, said and called. It follows a job that runs. */
export function JobTranscript({ id, before }: { id: string; before?: string }) {
  const [earlier, setEarlier] = useState<string>();
  const [isLive, setLive] = useState(before === undefined);
  const input = { id, limit: 50, characters: 4000, ...(before === undefined ? {} : { before }) };
  const { data, error, refetch } = useOperation("job_transcript", input, { everyMs: isLive ? liveMs : false });
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading lines={3} />;
  const follows = before === undefined && data.running;
  if (isLive !== follows) setLive(follows);
  const first = data.entries[0]?.n;
  if (data.entries.length === 0) {
    return <p className="muted">{data.running ? "The agent has not started yet." : "No transcript was recorded."}</p>;
  }
  return (
    <div className="transcript">
      {earlier && <JobTranscript id={id} before={earlier} />}
      {!earlier && data.earlier && first !== undefined && (
        <Button size="xs" variant="default" onClick={() => setEarlier(String(first))}>
          Earlier entries
        </Button>
      )}
      <ol>
        {data.entries.map((entry) => (
          <li key={entry.n} data-kind={entry.kind}>
            <p className="transcript-head">
              <Time at={entry.at} />
            </p>
            <EntryBody entry={entry} />
          </li>
        ))}
      </ol>
      {follows && (
        <p className="muted small" role="status">
          The agent is working.
        </p>
      )}
    </div>
  );
}

import { Time } from "../parts/time.tsx";
import { EntryBody } from "../runs/transcript.tsx";
import { TranscriptPage } from "../runs/transcript-page.tsx";

/** What the agent of a job was sent, said and called. It follows a job that runs. */
export const JobTranscript = ({ id }: { id: string }) => (
  <div className="transcript">
    <TranscriptPage
      operation="job_transcript"
      of={{ id }}
      none={(isRunning) => (isRunning ? "The agent has not started yet." : "No transcript was recorded.")}
    >
      {(entry) => (
        <>
          <p className="transcript-head">
            <Time at={entry.at} />
          </p>
          <EntryBody entry={entry} />
        </>
      )}
    </TranscriptPage>
  </div>
);

import { Link } from "@tanstack/react-router";
import { boot } from "../boot.ts";
import { useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { DecisionCard } from "../inbox/decision-card.tsx";
import { hiddenIn } from "../inbox/hidden.ts";
import { AgentName } from "../parts/agent-name.tsx";
import { addressOf } from "../parts/paths.ts";
import { Shown } from "../parts/shown.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";
import type { TrustedPassage } from "./marks.tsx";
import { Recheck } from "./recheck.tsx";
import { sentenceCase, trustStates } from "./states.tsx";
import { whatToDo } from "./what-to-do.ts";

type Props = { path: string; passage: TrustedPassage; onClose(): void };

/** What is known about a passage, and the decision about it. */
export function TrustCard({ path, passage, onClose }: Props) {
  const { state, since, causes, lost, writer, verified_by, verified_at, stale_after, sources, topics } = passage;
  const { word, tone, Shape } = trustStates[state];
  const others = topics.filter((id) => !causes.some((cause) => cause.topic_id === id));
  const advice = whatToDo(state, lost !== null);
  return (
    <>
      <h2 className={`trust-title tone-${tone}`}>
        <Shape size={16} aria-hidden /> {sentenceCase(word)}
      </h2>
      <p className="muted small">
        since <Time at={since} />
      </p>
      {causes.length > 0 && (
        <ul className="trust-causes">
          {causes.map((cause) => (
            <li key={`${cause.kind} ${cause.at} ${cause.text}`}>
              <Cause of={cause} />
            </li>
          ))}
        </ul>
      )}
      {advice && (
        <p className="small">
          {advice}{" "}
          <Link to={addressOf(path, boot.workspace.wiki)} search={{ view: "suggest" } as never} onClick={onClose}>
            Suggest edit
          </Link>
        </p>
      )}
      <dl className="about">
        <div>
          <dt>Written by</dt>
          <dd>
            {writer.by === "" ? "an edit of the file" : <AgentName of={writer.by} />}
            {writer.role && writer.role !== writer.by && ` as ${writer.role}`}, <Time at={writer.at} />
            {writer.task && (
              <>
                {", "}
                <Link to={`/tasks/${writer.task}`} onClick={onClose}>
                  task
                </Link>
              </>
            )}
            {writer.run && (
              <>
                {", "}
                <Link to={`/runs/${writer.run}`} onClick={onClose}>
                  run
                </Link>
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>Verified by</dt>
          <dd>
            {verified_by === null ? (
              "nobody"
            ) : (
              <>
                <AgentName of={verified_by} />
                {verified_at && (
                  <>
                    , <Time at={verified_at} />
                  </>
                )}
              </>
            )}
          </dd>
        </div>
        {stale_after && (
          <div>
            <dt>Check again from</dt>
            <dd>{stale_after.slice(0, 10)}</dd>
          </div>
        )}
        {sources.length > 0 && (
          <div>
            <dt>Cites</dt>
            <dd>
              <ul className="links">
                {sources.map((source) => (
                  <li key={`${source.ref} ${source.lines}`}>
                    <Cited {...source} onFollow={onClose} />
                  </li>
                ))}
              </ul>
            </dd>
          </div>
        )}
        {others.length > 0 && (
          <div>
            <dt>Asked about in</dt>
            <dd>
              {others.map((id, at) => (
                <span key={id}>
                  {at > 0 && ", "}
                  <Link to={`/topics/${id}`} onClick={onClose}>
                    topic {at + 1}
                  </Link>
                </span>
              ))}
            </dd>
          </div>
        )}
      </dl>
      <Recheck path={path} passage={passage.passage} onClose={onClose} />
      <Decide path={path} passage={passage} onClose={onClose} />
    </>
  );
}

function Cause({ of: { text, at, other_path: other, topic_id: topic } }: { of: TrustedPassage["causes"][number] }) {
  return (
    <>
      <p>
        <Shown text={text} />
      </p>
      <p className="facts">
        <Time at={at} />
        {other !== undefined && (
          <Link to={addressOf(other, boot.workspace.wiki)}>
            <Shown text={other} />
          </Link>
        )}
        {topic !== undefined && <Link to={`/topics/${topic}`}>Topic</Link>}
      </p>
    </>
  );
}

const sourceWords: Record<TrustedPassage["sources"][number]["state"], string> = {
  same: "unchanged",
  changed: "changed",
  gone: "gone",
  not_checked: "never checked",
};

function Cited({ ref: cited, lines, state, onFollow }: TrustedPassage["sources"][number] & { onFollow(): void }) {
  const [kind = "", path = ""] = splitAt(cited, cited.indexOf(":"));
  const name = <Shown text={lines ? `${path}, line ${lines}` : path} />;
  return (
    <>
      {kind === "source" && state !== "gone" ? (
        <Link to={`/source/${path}`} onClick={onFollow}>
          {name}
        </Link>
      ) : (
        name
      )}{" "}
      <span className={state === "changed" || state === "gone" ? "state tone-off" : "muted small"}>
        {sourceWords[state]}
      </span>
    </>
  );
}

const splitAt = (text: string, at: number) => [text.slice(0, at), text.slice(at + 1)];

function Decide({ path, passage: { passage, text }, onClose }: Props) {
  const note = useDraft(`note trust ${path} ${passage}`, "");
  const done = (what: string) => () => {
    note.clear();
    say(what);
    onClose();
  };
  const verify = useWrite("verify_passage", { onDone: done("Passage verified") });
  const dispute = useWrite("dispute_passage", { onDone: done("Passage disputed; a topic was opened") });
  const when = !verify.isPending && !dispute.isPending;
  const id = path;
  return (
    <DecisionCard
      note={note}
      hasKey={false}
      hidden={hiddenIn([["passage", text]])}
      description="What you checked it against, or what is wrong"
      accept={{
        ...{ id: "verify-passage", label: "Verify", operation: "verify_passage", when, isBusy: verify.isPending },
        run: (note) => verify.mutate({ id, passage, ...(note ? { note } : {}) }),
      }}
      decline={{
        ...{ id: "dispute-passage", label: "Dispute", operation: "dispute_passage", when, needsNote: true },
        run: (why) => dispute.mutate({ id, passage, why }),
      }}
    />
  );
}

import { Button, Textarea } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { RenderedPage } from "../../src/http/web-types.ts";
import { loadDraft, useDraft } from "../client/draft.ts";
import { useFirstAnswer, useOperation, useWrite } from "../client/query.ts";
import { CodeEditor } from "../parts/code-editor.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading, Problem } from "../parts/state.tsx";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { Preview } from "./editor.tsx";

type Draft = { text: string; base: string; sha: string; message: string };
type Props = { page: RenderedPage; topic: string | undefined; onDone(): void };

/** The page's text in an editor; what is made of it is a proposal by the person, for a topic or with a new one. */
export function Suggest({ page, topic, onDone }: Props) {
  const latest = useOperation("read_page", { path: page.path });
  const first = useFirstAnswer(latest);
  if (first && latest.data)
    return <SuggestEditor key={page.path} first={first} latest={latest.data} topic={topic} onDone={onDone} />;
  if (latest.error) return <Failed error={latest.error} again={() => void latest.refetch()} />;
  return <Loading lines={12} />;
}

type Latest = { path: string; content: string; source_sha: string };

type EditorProps = { first: Latest; latest: Latest; topic: string | undefined; onDone(): void };

function SuggestEditor({ first, latest, topic, onDone }: EditorProps) {
  const navigate = useNavigate();
  // Text and base belong together: the text in the editor with the base of a later answer would undo what came between.
  const [start, setStart] = useState(first);
  const [round, setRound] = useState(0);
  const fresh = { text: start.content, base: start.content, sha: start.source_sha, message: "" };
  const key = `edit ${latest.path} ${topic ?? ""}`;
  const draft = useDraft<Draft>(key, fresh);
  const { text, base, sha, message } = draft.value;
  const [begun, setBegun] = useState(text);
  const [trouble, setTrouble] = useState<string>();
  const about = useOperation("get_topic", { id: topic ?? "" }, { enabled: topic !== undefined });
  const change = (next: Partial<Draft>) => {
    const whole = { ...draft.value, ...next };
    if (whole.text === whole.base && whole.message === "") draft.clear();
    else draft.setValue(whole);
  };
  const propose = useWrite("propose_edit", {
    onDone({ id }, sent) {
      // What was typed meanwhile stays a draft.
      const now = loadDraft<Draft>(key);
      if (now?.text === sent.content && now.message.trim() === (sent.message ?? "")) draft.clear();
      say("Proposed; it waits for approval");
      void navigate({ to: `/proposals/${id}` });
    },
    onRefused(refusal) {
      setTrouble(refusal.message);
      return true;
    },
  });
  const isChanged = text !== base;
  const isReady = isChanged && (topic !== undefined || message.trim() !== "");
  const send = () => {
    setTrouble(undefined);
    if (!isReady || propose.isPending) return;
    const said = message.trim() === "" ? {} : { message: message.trim() };
    const of = topic === undefined ? {} : { topic_id: topic };
    propose.mutate({ source_path: latest.path, base_sha: sha, content: text, ...said, ...of });
  };
  const actions: Record<"propose" | "leave", Action> = {
    propose: {
      id: "suggest-propose",
      label: "Propose edit",
      group: "Page",
      keys: "mod+s",
      operation: "propose_edit",
      when: isReady && !propose.isPending,
      run: send,
    },
    leave: { id: "suggest-leave", label: isChanged ? "Close and keep draft" : "Close", group: "Page", run: onDone },
  };
  useActions(Object.values(actions));
  return (
    <div className="editor">
      <p className="note" role="status">
        Your edit becomes a proposal; the page changes when it is approved.
        {about.data && (
          <>
            {" "}
            It answers the topic “
            <Shown text={about.data.messages[0]?.content.slice(0, 80) ?? ""} />
            ”.
          </>
        )}
        {latest.source_sha !== sha &&
          " The page changed since you began: the proposal is compared with the text that you started from."}
        {draft.isKept && (
          <>
            {" "}
            <button
              type="button"
              className="link-button"
              onClick={() => {
                draft.clear();
                setStart(latest);
                setBegun(latest.content);
                setRound(round + 1);
              }}
            >
              Discard draft
            </button>
          </>
        )}
      </p>
      <div className="editor-panes">
        <CodeEditor
          key={round}
          value={begun}
          onChange={(next) => change({ text: next })}
          label="Text of the page"
          onSave={send}
        />
        <Preview text={text} path={latest.path} />
      </div>
      <Textarea
        label={topic === undefined ? "What you changed and why" : "Reply in the topic (optional)"}
        description={topic === undefined ? "It becomes the first message of a topic about the page." : undefined}
        required={topic === undefined}
        autosize
        minRows={2}
        maxRows={8}
        maxLength={20_000}
        value={message}
        onChange={(event) => change({ message: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
        }}
      />
      <Problem text={trouble} />
      <div className="editor-foot">
        <ActionButton action={actions.propose} busy={propose.isPending} />
        <Button variant="default" onClick={actions.leave.run}>
          {actions.leave.label}
        </Button>
        <span className="hint">Your draft is kept in this browser until you propose it.</span>
      </div>
    </div>
  );
}

import { Button, Textarea } from "@mantine/core";
import { mayCall, type Output } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";

type Message = Output<"task_record">["steering"][number];

const over = new Set(["completed", "failed", "cancelled", "stale"]);

/** Messages of people to the worker of a task, and the form to send one. */
export function Steering({ id, state, messages }: { id: string; state: string; messages: Message[] }) {
  const draft = useDraft(`steer ${id}`, "");
  const text = draft.value;
  const send = useWrite("steer_task", {
    onDone: ({ reaches }) => {
      draft.clear();
      say(reaches === "worker" ? "Message sent to the worker" : "Message kept for the next attempt");
    },
  });
  const isOpen = !over.has(state) && mayCall("steer_task");
  if (messages.length === 0 && !isOpen) return null;
  const isWorking = state === "worker_executing";
  return (
    <section>
      <h2>Messages to the worker</h2>
      <ul className="steering">
        {messages.map((message) => (
          <li key={message.id}>
            <p>
              <Shown text={message.content} />
            </p>
            <p className="facts">
              <span>
                <Shown text={message.sent_by} />, <Time at={message.sent_at} />
              </span>
              <span>{deliveryOf(message, isWorking)}</span>
            </p>
          </li>
        ))}
      </ul>
      {isOpen && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            send.mutate({ id, content: text.trim() });
          }}
        >
          <Textarea
            label="Message"
            description={
              isWorking
                ? "The worker gets it with its next turn or tool result"
                : "Nobody works on the task now; the next attempt gets it"
            }
            autosize
            minRows={2}
            maxLength={8000}
            value={text}
            onChange={(event) => draft.setValue(event.currentTarget.value)}
          />
          <div className="row-of-buttons">
            <Button type="submit" size="xs" disabled={!text.trim()} loading={send.isPending}>
              Send message
            </Button>
          </div>
        </form>
      )}
    </section>
  );
}

function deliveryOf({ delivered, attempt }: Message, isWorking: boolean): string {
  if (delivered === null) return isWorking ? "not delivered yet" : "not delivered: no worker has read it";
  const to = attempt === null ? "" : ` to attempt ${attempt}`;
  const how = { turn: "between two turns", tool_result: "with a tool result", context: "in its context" }[delivered];
  return `delivered${to} ${how}`;
}

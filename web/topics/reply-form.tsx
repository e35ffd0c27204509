import { Button } from "@mantine/core";
import { type ReactNode, type RefObject, useRef } from "react";
import { useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { MessageField } from "./message-field.tsx";
import { isOwn, type Message } from "./messages.tsx";

/** The reply to a topic; its draft is the same wherever the topic is shown. */
export function useReply(topic: string) {
  const { clearSent, ...draft } = useDraft(`reply ${topic}`, "");
  const reply = useWrite("reply_topic", { onDone: (_, sent) => clearSent(sent.content) });
  return { draft, reply, waiting: reply.isPending ? reply.variables?.content : undefined };
}

type Props = {
  topic: string;
  reply: ReturnType<typeof useReply>;
  messages: Message[];
  onEdit(id: string): void;
  field?: RefObject<HTMLTextAreaElement | null>;
  /** Further buttons. */
  children?: ReactNode;
};

/** A field that replies to a topic, completes names, and edits the person's last message on the up arrow key. */
export function ReplyForm({ topic, reply: { draft, reply }, messages, onEdit, field: given, children }: Props) {
  const own = useRef<HTMLTextAreaElement>(null);
  const field = given ?? own;
  const { value: text, setValue: setText } = draft;
  const words = text.trim();
  const send = () => words && !reply.isPending && reply.mutate({ id: topic, content: words });
  return (
    <form
      className="reply"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
        if (event.key === "Escape") field.current?.blur();
        const last = event.key === "ArrowUp" && text === "" ? messages.findLast(isOwn) : undefined;
        if (!last) return;
        event.preventDefault();
        onEdit(last.id);
      }}
    >
      <MessageField
        field={field}
        aria-label="Reply"
        placeholder="Reply"
        autosize
        minRows={1}
        maxRows={10}
        value={text}
        onText={setText}
      />
      <div className="row-of-buttons">
        {words && (
          <Button type="submit" size="xs" loading={reply.isPending}>
            Send
          </Button>
        )}
        {children}
      </div>
    </form>
  );
}

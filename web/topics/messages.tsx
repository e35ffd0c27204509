import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import { boot } from "../boot.ts";
import { mayCall } from "../client/call.ts";
import { textsQuery } from "../client/query.ts";
import { Bot } from "../parts/icons.tsx";
import { Rendered } from "../parts/rendered.tsx";
import { Shown } from "../parts/shown.tsx";
import { Time } from "../parts/time.tsx";
import { EditMessage } from "./edit-message.tsx";

export type Message = {
  id: string;
  author: string;
  isAgent?: boolean;
  at: string;
  content: string;
  remark?: ReactNode;
  /** When its author last changed it. */
  editedAt?: string | null;
  /** Set for a message of a topic, which its author may edit. */
  place?: { topic: string; seq: number };
};

type Props = {
  messages: Message[];
  waiting?: string | undefined;
  /** The message that is edited, if the caller keeps track of it. */
  editing?: string | undefined;
  onEditing?(id: string | undefined): void;
};

/** True for a message that the person may edit. */
export const isOwn = ({ author, isAgent, place }: Message) =>
  place !== undefined && !isAgent && author === boot.person.name && mayCall("edit_message");

/** Messages in order. Plain text is shown until the server has rendered them, or if it fails. */
export function Messages({ messages, waiting, ...given }: Props) {
  const [chosen, setChosen] = useState<string>();
  const editing = given.onEditing ? given.editing : chosen;
  const list = useRef<HTMLOListElement>(null);
  const edit = (id: string | undefined) => {
    (given.onEditing ?? setChosen)(id);
    // The field is gone with its focus.
    if (id === undefined)
      requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(`[data-edit="${editing}"]`)?.focus());
  };
  const { data: htmls = [] } = useQuery(textsQuery(messages.map(({ content }) => content)));
  return (
    <ol className="messages" ref={list}>
      {messages.map(({ id, author, isAgent, at, content, remark, editedAt, place }, index) => (
        <li key={id}>
          <p className="by">
            {isAgent && <Bot size={14} aria-label="agent" />}{" "}
            <strong>
              <Shown text={author} />
            </strong>
            , <Time at={at} />
            {editedAt && (
              <span className="muted">
                {" "}
                (edited <Time at={editedAt} />)
              </span>
            )}
            {remark}
            {isOwn({ id, author, at, content, ...(isAgent ? { isAgent } : {}), ...(place ? { place } : {}) }) &&
              editing !== id && (
                <button type="button" className="link-button edit-message" data-edit={id} onClick={() => edit(id)}>
                  Edit<span className="sr-only"> message</span>
                </button>
              )}
          </p>
          {place && editing === id ? (
            <EditMessage {...place} content={content} onDone={() => edit(undefined)} />
          ) : htmls[index] ? (
            <Rendered html={htmls[index]} within={id} />
          ) : (
            <Plain text={content} />
          )}
        </li>
      ))}
      {waiting !== undefined && (
        <li className="waiting">
          <Plain text={waiting} />
        </li>
      )}
    </ol>
  );
}

const Plain = ({ text }: { text: string }) => (
  <p className="plain">
    <Shown text={text} />
  </p>
);

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { textsQuery } from "../client/query.ts";
import { Bot } from "../parts/icons.tsx";
import { Rendered } from "../parts/rendered.tsx";
import { Shown } from "../parts/shown.tsx";
import { Time } from "../parts/time.tsx";

export type Message = {
  id: string;
  author: string;
  isAgent?: boolean;
  at: string;
  content: string;
  remark?: ReactNode;
};

/** Messages in order. Plain text is shown until the server has rendered them, or if it fails. */
export function Messages({ messages, waiting }: { messages: Message[]; waiting?: string | undefined }) {
  const { data: htmls = [] } = useQuery(textsQuery(messages.map(({ content }) => content)));
  return (
    <ol className="messages">
      {messages.map(({ id, author, isAgent, at, content, remark }, index) => (
        <li key={id}>
          <p className="by">
            {isAgent && <Bot size={14} aria-label="agent" />}{" "}
            <strong>
              <Shown text={author} />
            </strong>
            , <Time at={at} />
            {remark}
          </p>
          {htmls[index] ? <Rendered html={htmls[index]} within={id} /> : <Plain text={content} />}
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

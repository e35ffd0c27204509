import { Checkbox, Textarea } from "@mantine/core";
import { type ReactNode, type RefObject, useRef, useState } from "react";
import type { OperationName } from "../../src/operation-loaders.ts";
import type { HiddenText } from "../../src/review/proposals/hidden-text.ts";
import { mayCall } from "../client/call.ts";
import type { useDraft } from "../client/draft.ts";
import { Shown } from "../parts/shown.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";

type Choice = {
  id: string;
  label: string;
  operation: OperationName;
  when: boolean;
  needsNote?: boolean;
  icon?: ReactNode;
  isBusy?: boolean;
  run(note: string): void;
};

type Props = {
  label?: string;
  description: string;
  /** The note: it is kept in the browser until the decision has it. */
  note: ReturnType<typeof useDraft<string>>;
  mostCharacters?: number;
  /** The decision that goes on; ⌘/Ctrl+Enter in the card. */
  accept: Choice;
  /** The other one; with Shift. */
  decline: Choice;
  /** Without a key. */
  others?: Choice[];
  /** Characters that nobody sees: `accept` waits until they are acknowledged. */
  hidden: HiddenText[];
  /** A decision is held: there is nothing to choose. */
  isHeld?: boolean;
  /** False where the page has other uses for the key that leads to the note. */
  hasKey?: boolean;
  children?: ReactNode;
};

/** A note and the buttons that decide something that waits. No bare key decides. */
export function DecisionCard(props: Props) {
  const {
    label = "Note",
    description,
    note,
    mostCharacters = 2000,
    hidden,
    isHeld = false,
    hasKey = true,
    children,
  } = props;
  const { accept, decline, others = [] } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  // What was acknowledged, so that other characters are asked about again.
  const [accepted, setAccepted] = useState("");
  const hasAccepted = hidden.length === 0 || accepted === JSON.stringify(hidden);
  const words = note.value.trim();
  const choices = [
    { ...accept, keys: "mod+enter", when: accept.when && hasAccepted },
    { ...decline, keys: "mod+shift+enter" },
    ...others,
  ].map(({ needsNote, icon, isBusy, run, ...choice }: Choice & { keys?: string }) => ({
    ...{ icon, isBusy: isBusy === true },
    action: {
      ...choice,
      ...{ group: "Decision", within: ".decide" },
      when: choice.when && !isHeld && (needsNote !== true || words !== ""),
      run: () => run(words),
    } satisfies Action,
  }));
  useActions([
    ...(hasKey ? [focusAction(field, accept.operation, !isHeld)] : []),
    ...choices.map(({ action }) => action),
  ]);
  if (!mayCall(accept.operation)) {
    return (
      <div className="decide">
        {children}
        <p className="note">Only collaborators and admins can decide.</p>
      </div>
    );
  }
  return (
    <section className="decide" aria-label="Decision">
      <Textarea
        ref={field}
        label={label}
        description={description}
        autosize
        minRows={2}
        maxLength={mostCharacters}
        value={note.value}
        onChange={(event) => note.setValue(event.currentTarget.value)}
        disabled={isHeld}
      />
      {hidden.length > 0 && !isHeld && (
        <Checkbox
          checked={hasAccepted}
          onChange={(event) => setAccepted(event.currentTarget.checked ? JSON.stringify(hidden) : "")}
          label={
            <>
              {accept.label} with these hidden characters: <Shown text={named(hidden)} />
            </>
          }
        />
      )}
      {children}
      {!isHeld && (
        <div className="row-of-buttons">
          {choices.map(({ action, icon, isBusy }, at) => (
            <ActionButton
              key={action.id}
              action={action}
              icon={icon}
              busy={isBusy}
              {...(at === 0 ? {} : { variant: "default" })}
            />
          ))}
        </div>
      )}
    </section>
  );
}

const focusAction = (
  field: RefObject<HTMLTextAreaElement | null>,
  operation: OperationName,
  when: boolean,
): Action => ({
  ...{ id: "decide", label: "Write a note", group: "Decision", keys: "d", operation, when },
  run: () => field.current?.focus(),
});

const mostNamed = 10;

const named = (hidden: HiddenText[]) =>
  hidden
    .slice(0, mostNamed)
    .map(({ where, characters }) => `${characters} (${where})`)
    .join(", ") + (hidden.length > mostNamed ? ` and ${hidden.length - mostNamed} more lines` : "");

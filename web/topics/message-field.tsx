import { Textarea, type TextareaProps } from "@mantine/core";
import { type KeyboardEvent, type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { useOperation } from "../client/query.ts";
import { Bot } from "../parts/icons.tsx";
import { Shown } from "../parts/shown.tsx";
import { fittingNames, type Typed, typedMention, withName } from "./mention.ts";

type Props = Omit<TextareaProps, "value" | "onChange" | "ref"> & {
  field: RefObject<HTMLTextAreaElement | null>;
  value: string;
  onText(text: string): void;
};

const most = 8;

/**
 * A field for a message that completes names after @. A textarea may not have the role combobox, so it keeps its own
 * and points to the chosen option; a status tells screen readers how many names fit.
 */
export function MessageField({ field, value, onText, ...rest }: Props) {
  const id = useId();
  const names = useOperation("list_names", {});
  const [typed, setTyped] = useState<Typed>();
  const [at, setAt] = useState(0);
  const caret = useRef<number>(undefined);
  const list = useRef<HTMLDivElement>(null);
  const others = (names.data?.names ?? []).filter(({ is_you: isYou }) => !isYou);
  const fitting = typed ? fittingNames(others, typed.query, most) : [];
  const isOpen = fitting.length > 0;
  const chosen = Math.min(at, fitting.length - 1);

  useLayoutEffect(() => {
    if (caret.current === undefined) return;
    field.current?.setSelectionRange(caret.current, caret.current);
    caret.current = undefined;
  });
  useEffect(() => {
    if (isOpen) list.current?.scrollIntoView({ block: "nearest" });
  }, [isOpen]);

  const look = () => {
    const { selectionStart: start, selectionEnd: end, value: text } = field.current ?? {};
    const next =
      text !== undefined && start !== undefined && start === end ? typedMention(text, start ?? 0) : undefined;
    if (next?.start !== typed?.start || next?.query !== typed?.query) setAt(0);
    setTyped(next);
  };
  const take = (name: string) => {
    if (!typed) return;
    const next = withName(value, typed, name);
    caret.current = next.caret;
    onText(next.text);
    setTyped(undefined);
    field.current?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen || event.nativeEvent.isComposing || event.ctrlKey || event.metaKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const name = fitting[chosen]?.name;
    if (step) setAt((chosen + step + fitting.length) % fitting.length);
    else if ((event.key === "Enter" || event.key === "Tab") && name !== undefined && !event.shiftKey) take(name);
    else if (event.key === "Escape") setTyped(undefined);
    else return;
    // The form would close or send, and the page would close the topic.
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="message-field">
      <Textarea
        {...rest}
        ref={field}
        value={value}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        {...(isOpen ? { "aria-controls": id, "aria-activedescendant": `${id}-${chosen}` } : {})}
        onChange={(event) => {
          onText(event.currentTarget.value);
          look();
        }}
        onSelect={look}
        onBlur={() => setTyped(undefined)}
        onKeyDown={onKeyDown}
      />
      {isOpen && (
        <div id={id} role="listbox" aria-label="Names" className="name-list" ref={list}>
          {fitting.map(({ name, kind }, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled in the field, which keeps the focus
            <div
              key={`${kind} ${name}`}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === chosen}
              // The field would lose the focus, and with it the list, before the click arrives.
              onPointerDown={(event) => event.preventDefault()}
              onMouseDown={(event) => event.preventDefault()}
              onMouseEnter={() => setAt(index)}
              onClick={() => take(name)}
            >
              <Shown text={name} />
              {kind === "agent" && (
                <span className="muted small">
                  <Bot size={13} /> agent
                </span>
              )}
            </div>
          ))}
        </div>
      )}
      <span className="sr-only" role="status">
        {isOpen && `${fitting.length} ${fitting.length === 1 ? "name fits" : "names fit"}. Enter inserts one.`}
      </span>
    </div>
  );
}

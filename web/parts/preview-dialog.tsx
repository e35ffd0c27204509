import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { OperationName } from "../../src/operation-loaders.ts";
import { call, type Input, type Output } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { Dialog } from "./dialog.tsx";
import { Shown } from "./shown.tsx";
import { Failed, Loading } from "./state.tsx";
import { isTyped, TypedWord } from "./typed-word.tsx";

type Props<N extends OperationName> = {
  /** An operation that changes nothing without `confirm`. */
  operation: N;
  /** Of the preview. */
  input: Input<N>;
  /** Of the change, once its preview was seen. */
  confirm(preview: Output<N>): Input<N>;
  title: string;
  doneTitle: string;
  button: string;
  color?: string;
  /** Has to be typed before the button works. */
  word?: string;
  /** False while a required field is empty. */
  isReady?: boolean;
  /** True if there is nothing to do. */
  isEmpty?(preview: Output<N>): boolean;
  /** Fields between the preview and the button. */
  fields?: ReactNode;
  onDone?(): void;
  onClose(): void;
  /** What is going to change, or did. */
  children(change: Output<N>, isDone: boolean): ReactNode;
};

/** Shows what an operation changes, performs it once the person confirms, and shows what it did. */
export function PreviewDialog<N extends OperationName>(props: Props<N>) {
  const { operation, input, word, isReady = true, title, doneTitle, button, color = "red", onClose } = props;
  const [typed, setTyped] = useState("");
  const [trouble, setTrouble] = useState<string>();
  const [done, setDone] = useState<Output<N>>();
  const preview = useQuery({
    queryKey: [operation, "preview", input],
    queryFn: ({ signal }) => call(operation, input, signal),
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });
  const write = useWrite(operation, {
    onDone(made) {
      setDone(made);
      props.onDone?.();
    },
    onRefused({ message }) {
      setTrouble(message);
      void preview.refetch();
      return true;
    },
  });
  const seen = preview.data as Output<N> | undefined;
  const change = done ?? seen;
  const canDo = seen !== undefined && done === undefined && !props.isEmpty?.(seen);
  const isConfirmed = isReady && (word === undefined || isTyped(word, typed));
  return (
    <Dialog onClose={onClose} title={done ? doneTitle : title} size="lg">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          setTrouble(undefined);
          if (canDo && isConfirmed && !write.isPending) write.mutate(props.confirm(seen));
        }}
      >
        {preview.error && !done && <Failed error={preview.error} again={() => void preview.refetch()} />}
        {!change && !preview.error && <Loading lines={4} />}
        {change && props.children(change, done !== undefined)}
        {canDo && props.fields}
        {trouble && (
          <p className="note bad plain" role="alert">
            <Shown text={trouble} />
          </p>
        )}
        {canDo && word !== undefined && <TypedWord word={word} value={typed} onChange={setTyped} />}
        <div className="row-of-buttons">
          {canDo && (
            <Button type="submit" color={color} disabled={!isConfirmed} loading={write.isPending}>
              {button}
            </Button>
          )}
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

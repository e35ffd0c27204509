import { Button, TextInput } from "@mantine/core";
import type { RenderedPage } from "../../src/http/web-types.ts";
import { useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { Rendered } from "../parts/rendered.tsx";
import { say } from "../parts/toast.tsx";

/** A log only grows: one line at the end, with time and name put in front by the server. */
export function LogEditor({ page, onDone }: { page: RenderedPage; onDone(): void }) {
  const id = page.entry?.id ?? "";
  const { value: line, setValue: setLine, clear } = useDraft(`line ${id}`, "");
  const append = useWrite("append_log", {
    onDone() {
      clear();
      say("Line added");
      onDone();
    },
  });
  return (
    <div className="column-inner">
      <form
        className="log-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (line.trim()) append.mutate({ id, line: line.trim() });
        }}
      >
        <TextInput
          label="New line"
          description="The time and your name are added. Lines of a log cannot be changed later."
          value={line}
          onChange={(event) => setLine(event.currentTarget.value)}
          data-autofocus
          autoFocus
          maxLength={4000}
        />
        <Button type="submit" loading={append.isPending} disabled={!line.trim()}>
          Add line
        </Button>
      </form>
      <Rendered html={page.html} title={page.title} />
    </div>
  );
}

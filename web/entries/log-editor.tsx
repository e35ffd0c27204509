import { Button, TextInput } from "@mantine/core";
import type { RenderedPage } from "../../src/http/web-types.ts";
import { loadDraft, useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { Rendered } from "../parts/rendered.tsx";
import { say } from "../parts/toast.tsx";

/** A log only grows: one line at the end, with time and name put in front by the server. */
export function LogEditor({ page, onDone }: { page: RenderedPage; onDone(): void }) {
  const id = page.entry?.id ?? "";
  const key = `line ${id}`;
  const { value: line, setValue: setLine, clearSent } = useDraft(key, "");
  const append = useWrite("append_log", {
    onDone(_, sent) {
      clearSent(sent.line);
      say("Line added");
      // The next line was begun while this one was sent.
      if (loadDraft<string>(key) === undefined) onDone();
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

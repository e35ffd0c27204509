import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import type { RenderedPage } from "../../src/http/web-types.ts";
import { useWrite } from "../client/query.ts";
import { Rendered } from "../parts/rendered.tsx";
import { say } from "../parts/toast.tsx";

/** A log only grows: one line at the end, with time and name put in front by the server. */
export function LogEditor({ page, onDone }: { page: RenderedPage; onDone(): void }) {
  const [line, setLine] = useState("");
  const append = useWrite("append_log", {
    onDone() {
      setLine("");
      say("Line added");
      onDone();
    },
  });
  const id = page.entry?.id ?? "";
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

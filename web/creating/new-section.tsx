import { Button, Checkbox, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Output } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { Failed, Problem } from "../parts/state.tsx";

type Draft = { id: string; title: string; mode: "snapshot" | "log"; roles: string[]; description: string };

const idPattern = /^[a-z0-9][a-z0-9_-]*(\/[a-z0-9][a-z0-9_-]*){0,7}$/;

/** Proposes a section of the wiki. It exists once somebody has approved the proposal. */
export function NewSection({ id: wanted, onClose }: { id?: string | undefined; onClose(): void }) {
  const draft = useDraft<Draft>(`new section ${wanted ?? ""}`, {
    id: wanted ?? "",
    title: "",
    mode: "snapshot",
    roles: [],
    description: "",
  });
  const { id, title, mode, roles, description } = draft.value;
  const change = (next: Partial<Draft>) => draft.setValue({ ...draft.value, ...next });
  const schema = useOperation("show_schema", {});
  const [trouble, setTrouble] = useState<string>();
  const [proposed, setProposed] = useState<Output<"create_section"> & { id: string }>();
  const propose = useWrite("create_section", {
    onDone(made, input) {
      draft.clear();
      setProposed({ ...made, id: input.id });
    },
    onRefused({ message }) {
      setTrouble(message);
      return true;
    },
  });
  const problem = id === "" ? undefined : idProblem(id, schema.data);
  const isReady =
    id !== "" && !problem && title.trim() !== "" && description.trim() !== "" && schema.data !== undefined;
  const submit = () => {
    setTrouble(undefined);
    if (!isReady || propose.isPending) return;
    propose.mutate({ id, title: title.trim(), mode, writable_by: roles, description: description.trim() });
  };
  if (proposed) {
    return (
      <Dialog onClose={onClose} title="Section proposed">
        <div className="stack">
          <p role="status">
            Section <Shown text={proposed.id} /> waits for approval. It exists once a collaborator or an admin approves
            the proposal.
          </p>
          <div className="row-of-buttons">
            <Button
              data-autofocus
              component={Link}
              {...({ to: `/proposals/${proposed.proposal_id}` } as object)}
              onClick={onClose}
            >
              Open proposal
            </Button>
            <Button variant="default" onClick={onClose}>
              Close
            </Button>
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog onClose={onClose} title="New section" size="lg">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
        }}
      >
        <p className="hint">
          A section is an entry of the wiki with its rules. This makes a proposal; the section exists once it is
          approved.
        </p>
        {schema.error && <Failed error={schema.error} again={() => void schema.refetch()} />}
        <TextInput
          label="Id"
          description="Lower-case letters, digits, - and _, with / between levels"
          placeholder="api/errors"
          data-autofocus
          required
          autoComplete="off"
          spellCheck={false}
          maxLength={200}
          value={id}
          error={problem}
          onChange={(event) => change({ id: event.currentTarget.value })}
        />
        <TextInput
          label="Title"
          required
          maxLength={200}
          value={title}
          onChange={(event) => change({ title: event.currentTarget.value })}
        />
        <NativeSelect
          label="Mode"
          data={[
            { value: "snapshot", label: "Snapshot: each save replaces the text" },
            { value: "log", label: "Log: lines are only added" },
          ]}
          value={mode}
          onChange={(event) => change({ mode: event.currentTarget.value as Draft["mode"] })}
        />
        <Checkbox.Group
          label="Agents that may write it"
          description="People may always write. Without a role, only people do."
          value={roles}
          onChange={(next) => change({ roles: next })}
        >
          <div className="chips role-choices">
            {(schema.data?.roles ?? []).map((role) => (
              <Checkbox key={role} value={role} label={role} />
            ))}
            {schema.data?.roles.length === 0 && <span className="muted">The schema names no roles.</span>}
          </div>
        </Checkbox.Group>
        <Textarea
          label="Description"
          description="What belongs here and what does not. Agents read it."
          required
          autosize
          minRows={3}
          maxRows={10}
          maxLength={2000}
          value={description}
          onChange={(event) => change({ description: event.currentTarget.value })}
        />
        <Problem text={trouble} />
        <div className="row-of-buttons">
          <Button type="submit" disabled={!isReady} loading={propose.isPending}>
            Propose section
          </Button>
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function idProblem(id: string, schema: Output<"show_schema"> | undefined): string | undefined {
  if (!idPattern.test(id)) return "Use lower-case letters, digits, - and _, with / between levels, such as api/errors";
  if (schema?.sections.some((section) => section.id === id)) return `Section ${id} already exists`;
  return undefined;
}

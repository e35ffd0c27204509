import { Button, Checkbox, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { fillTemplate } from "../../src/crew/rules/fill-template.ts";
import type { Output } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { SetUpAgent } from "../parts/set-up-agent.tsx";
import { Shown } from "../parts/shown.tsx";

type Template = Output<"list_request_templates">["templates"][number];
type Draft = { request: string; template: string; values: Record<string, string> };

const empty: Draft = { request: "", template: "", values: {} };

/** Asks for the request of a run, as a text or by the fields of a template. */
export function NewRun({ onClose }: { onClose(): void }) {
  const navigate = useNavigate();
  const found = useOperation("list_request_templates", {});
  const templates = found.data?.templates ?? [];
  const draft = useDraft("new run", empty);
  const { request, template: name, values } = draft.value;
  const template = templates.find((one) => one.name === name);
  const [brief, setBrief] = useState(false);
  const start = useWrite("start_run", {
    onDone: ({ run }) => {
      draft.clear();
      void navigate({ to: `/runs/${run}` });
    },
  });
  const set = (change: Partial<Draft>) => draft.setValue({ ...draft.value, ...change });
  const text = template ? fillTemplate(template.text, values) : request;
  return (
    <Dialog onClose={onClose} title="New run" size="lg">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate({ request: text, brief });
        }}
      >
        <NativeSelect
          label="Template"
          description={template?.description}
          value={template?.name ?? ""}
          onChange={({ currentTarget }) => set({ template: currentTarget.value })}
          data={[
            { value: "", label: "None" },
            ...templates.map(({ name, title, file }) => ({
              value: name,
              label: file === null ? title : `${title} (${file})`,
            })),
          ]}
        />
        {found.data?.problems.map((problem) => (
          <p key={problem} className="note bad">
            <Shown text={problem} />
          </p>
        ))}
        {template ? (
          <Fields
            of={template}
            values={values}
            onChange={(name, value) => set({ values: { ...values, [name]: value } })}
          />
        ) : (
          <Textarea
            label="Request"
            description="A planner divides it into tasks. You can edit the plan before it runs."
            required
            data-autofocus
            autosize
            minRows={5}
            maxRows={16}
            value={request}
            onChange={(event) => set({ request: event.currentTarget.value })}
          />
        )}
        {template && (
          <details className="template-text">
            <summary>Request</summary>
            <p className="plain">
              <Shown text={text} />
            </p>
            <Button size="xs" variant="default" onClick={() => set({ template: "", request: text })}>
              Edit as text
            </Button>
          </details>
        )}
        <Checkbox
          label="Write a specification first"
          checked={brief}
          onChange={(event) => setBrief(event.currentTarget.checked)}
        />
        <div className="row-of-buttons">
          <Button type="submit" loading={start.isPending} disabled={text.trim() === ""}>
            Plan
          </Button>
          <SetUpAgent after={start.error} />
        </div>
      </form>
    </Dialog>
  );
}

type FieldsProps = {
  of: Template;
  values: Record<string, string>;
  onChange(name: string, value: string): void;
};

function Fields({ of, values, onChange }: FieldsProps) {
  return of.parameters.map(({ name, label, hint, optional, long }) => {
    const shared = {
      label,
      description: hint ?? undefined,
      required: !optional,
      value: values[name] ?? "",
      onChange: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(name, currentTarget.value),
    };
    return long ? (
      <Textarea key={`${of.name} ${name}`} autosize minRows={3} maxRows={12} {...shared} />
    ) : (
      <TextInput key={`${of.name} ${name}`} {...shared} />
    );
  });
}

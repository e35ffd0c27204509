import { Button, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { fromTemplate, type PageTemplate, pageTemplates } from "../../src/wiki/pages/templates.ts";
import { useDraft } from "../client/draft.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Problem } from "../parts/state.tsx";
import { say } from "../parts/toast.tsx";
import { fileNameFor } from "./file-name.ts";
import { PlaceStatus, usePlace } from "./place-status.tsx";

type Draft = { title: string; folder: string; name: string | null; template: PageTemplate; text: string | null };

const templateWords: Record<PageTemplate, string> = {
  blank: "Blank page",
  guide: "Guide",
  decision: "Decision",
  meeting: "Meeting notes",
};

/** Creates a page of the repository; entries of the wiki need a section. */
export function NewPage({ path: wanted, onClose }: { path?: string | undefined; onClose(): void }) {
  const navigate = useNavigate();
  const draft = useDraft<Draft>(`new page ${wanted ?? ""}`, emptyDraft(wanted));
  const { title, folder, name, template, text } = draft.value;
  const change = (next: Partial<Draft>) => draft.setValue({ ...draft.value, ...next });
  const file = name ?? fileNameFor(title);
  const path = file === "" ? "" : [...folder.split("/").filter(Boolean), file].join("/");
  const content = text ?? (title.trim() === "" ? "" : fromTemplate(template, title.trim()));
  const place = usePlace({ path });
  const [trouble, setTrouble] = useState<string>();
  const pages = useOperation("list_pages", { others: true });
  const create = useWrite("create_page", {
    onDone(made) {
      draft.clear();
      onClose();
      say(`Created ${made.path}`);
      void navigate({ to: `/pages/${made.path}` });
    },
    onRefused({ message }) {
      setTrouble(message);
      return true;
    },
  });
  const isReady = place?.free === true && content.trim() !== "";
  const submit = () => {
    setTrouble(undefined);
    if (isReady && !create.isPending) create.mutate({ path, content });
  };
  return (
    <Dialog onClose={onClose} title="New page" size="lg">
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
        <TextInput
          label="Title"
          data-autofocus
          maxLength={200}
          value={title}
          onChange={(event) => change({ title: event.currentTarget.value })}
        />
        <div className="pair">
          <TextInput
            label="Folder"
            placeholder="docs"
            list="new-page-folders"
            autoComplete="off"
            spellCheck={false}
            value={folder}
            onChange={(event) => change({ folder: event.currentTarget.value })}
          />
          <TextInput
            label="File name"
            placeholder="page.md"
            autoComplete="off"
            spellCheck={false}
            aria-describedby="new-page-place"
            value={file}
            onChange={(event) => change({ name: event.currentTarget.value })}
          />
        </div>
        <datalist id="new-page-folders">
          {foldersOf(pages.data?.pages.map((page) => page.path) ?? []).map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <div id="new-page-place">
          <PlaceStatus path={path} place={place} free={`${path} is free.`} />
        </div>
        <NativeSelect
          label="Template"
          data={pageTemplates.map((value) => ({ value, label: templateWords[value] }))}
          value={template}
          disabled={text !== null}
          description={text !== null ? "You edited the text." : undefined}
          onChange={(event) => change({ template: event.currentTarget.value as PageTemplate })}
        />
        <Textarea
          label="Text"
          className="source-field"
          autosize
          minRows={6}
          maxRows={16}
          maxLength={1_000_000}
          value={content}
          onChange={(event) => change({ text: event.currentTarget.value })}
        />
        <Problem text={trouble} />
        <div className="row-of-buttons">
          <Button type="submit" disabled={!isReady} loading={create.isPending}>
            Create page
          </Button>
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          {draft.isKept && (
            <Button
              variant="subtle"
              onClick={() => {
                draft.clear();
                setTrouble(undefined);
              }}
            >
              Discard draft
            </Button>
          )}
        </div>
        <p className="hint">The page is committed in your name. Later changes are proposals.</p>
      </form>
    </Dialog>
  );
}

function emptyDraft(path: string | undefined): Draft {
  const parts = path?.split("/") ?? [];
  const name = parts.pop() ?? null;
  const words = (name ?? "").replace(/\.(md|markdown)$/, "").replace(/[-_]+/g, " ");
  const title = words === "" ? "" : `${words[0]?.toUpperCase()}${words.slice(1)}`;
  return { title, folder: path === undefined ? "docs" : parts.join("/"), name, template: "blank", text: null };
}

/** Every folder with a page, and its parents. */
const foldersOf = (paths: string[]): string[] => {
  const all = paths.flatMap((path) => {
    const parts = path.split("/").slice(0, -1);
    return parts.map((_, at) => parts.slice(0, at + 1).join("/"));
  });
  return [...new Set(all)].sort();
};

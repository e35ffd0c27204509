import { Button, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { Problem } from "../parts/state.tsx";
import { say } from "../parts/toast.tsx";
import { ChangedLinks } from "./changed-links.tsx";

/** Renames the section of an entry; its history, links, topics and proposals follow. */
export function RenameSection({ id, title, onClose }: { id: string; title: string; onClose(): void }) {
  const navigate = useNavigate();
  const [next, setNext] = useState(id);
  const [name, setName] = useState(title);
  const [trouble, setTrouble] = useState<string>();
  const [done, setDone] = useState<Output<"rename_section">>();
  const [asked] = useDebouncedValue(next, 200);
  const isAsked = asked !== "" && asked !== id;
  const preview = useOperation("preview_section_rename", { id, new_id: asked }, { enabled: isAsked });
  const shown = isAsked && asked === next && !preview.error ? preview.data : undefined;
  const rename = useWrite("rename_section", {
    onDone(made) {
      if (made.left.length > 0) setDone(made);
      else leave(made.id);
    },
    onRefused({ message }) {
      setTrouble(message);
      return true;
    },
  });
  const leave = (to: string) => {
    onClose();
    say(`${id} is now ${to}`);
    void navigate({ to: `/entries/${to}`, replace: true });
  };
  const isReady = shown !== undefined && name.trim() !== "";
  if (done) {
    return (
      <Dialog onClose={() => leave(done.id)} title="Section renamed">
        <div className="stack">
          <p role="status">
            <Shown text={id} /> is now <Shown text={done.id} />. These links still lead to the old id:
          </p>
          <ul>
            {done.left.map(({ path, reason }) => (
              <li key={path}>
                <Shown text={path} />: <Shown text={reason} />
              </li>
            ))}
          </ul>
          <Button data-autofocus onClick={() => leave(done.id)}>
            Open entry
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog onClose={onClose} title="Rename section" size="lg">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          setTrouble(undefined);
          const retitled = name.trim() === title ? {} : { title: name.trim() };
          if (isReady) rename.mutate({ id, new_id: next, ...retitled });
        }}
      >
        <TextInput
          label="Id"
          description="Its file, history, links, topics and proposals follow."
          data-autofocus
          autoComplete="off"
          spellCheck={false}
          aria-describedby="rename-status"
          value={next}
          onChange={(event) => setNext(event.currentTarget.value.trim())}
        />
        <TextInput label="Title" value={name} onChange={(event) => setName(event.currentTarget.value)} />
        {next !== id && (
          <p id="rename-status" className={preview.error ? "place-status bad" : "place-status"} role="status">
            {preview.error && <Shown text={preview.error.message} />}
            {shown && `${next} is free.`}
          </p>
        )}
        {shown && <ChangedLinks {...shown} />}
        <Problem text={trouble} />
        <div className="row-of-buttons">
          <Button type="submit" disabled={!isReady} loading={rename.isPending}>
            Rename section
          </Button>
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

import { Button, TextInput } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { Problem } from "../parts/state.tsx";
import { say } from "../parts/toast.tsx";

/** Renames the section of an entry; its history, links, topics and proposals follow. */
export function RenameSection({ id, title, onClose }: { id: string; title: string; onClose(): void }) {
  const navigate = useNavigate();
  const [next, setNext] = useState(id);
  const [name, setName] = useState(title);
  const [trouble, setTrouble] = useState<string>();
  const [done, setDone] = useState<Output<"rename_section">>();
  const backlinks = useOperation("list_backlinks", { id: `entry:${id}`, limit: 50 });
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
  const isReady = next !== id && next !== "" && name.trim() !== "";
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
  const links = backlinks.data?.backlinks ?? [];
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
          value={next}
          onChange={(event) => setNext(event.currentTarget.value.trim())}
        />
        <TextInput label="Title" value={name} onChange={(event) => setName(event.currentTarget.value)} />
        {links.length > 0 && (
          <section className="effects" aria-label="Linked from">
            <h2>Linked from</h2>
            <ul>
              {links.map((node) => (
                <li key={node.id}>
                  <Link to={`/entries/${node.id.slice("entry:".length)}`} onClick={onClose}>
                    <Shown text={node.title} />
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        )}
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

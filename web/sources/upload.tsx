import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { boot } from "../boot.ts";
import { call } from "../client/call.ts";
import { invalidate } from "../client/live.ts";
import { queries } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { bytes } from "../parts/time.tsx";

/** The server's limit for a source, `largestSource` in src/wiki/sources/sources.ts. */
const largest = 32 * 1024 * 1024;
const mostFiles = 100;

type Known = { path: string; sha256: string }[];
type Line = { key: number; name: string; state: "waiting" | "adding" | "added" | "known" | "refused"; why?: string };

const words = { waiting: "waiting", adding: "adding", added: "added", known: "already there", refused: "not added" };
const tones = { waiting: "idle", adding: "busy", added: "good", known: "off", refused: "bad" };

/** Adds files as sources: dropped, chosen or pasted. One is sent at a time. */
export function Upload({ known }: { known: Known }) {
  const [lines, setLines] = useState<Line[]>([]);
  const [isOver, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const hashes = useRef(new Map<string, string>());
  for (const { sha256, path } of known) hashes.current.set(sha256, path);
  const queue = useRef(Promise.resolve());
  const count = useRef(0);

  const change = (key: number, next: Partial<Line>) =>
    setLines((all) => all.map((line) => (line.key === key ? { ...line, ...next } : line)));

  const add = (files: File[]) => {
    const taken = files.slice(0, mostFiles).map((file) => ({ file, key: count.current++ }));
    const left: Line[] =
      files.length > mostFiles
        ? [
            {
              key: count.current++,
              name: `${files.length - mostFiles} files`,
              state: "refused",
              why: "Add 100 at a time.",
            },
          ]
        : [];
    setLines((all) => [
      ...taken.map(({ file, key }): Line => ({ key, name: file.name, state: "waiting" })),
      ...left,
      ...all,
    ]);
    for (const { file, key } of taken)
      queue.current = queue.current.then(async () => {
        change(key, { state: "adding" });
        change(key, await addOne(file, hashes.current).catch((error: Error) => refused(error.message)));
      });
    queue.current = queue.current.then(() => invalidate(queries, boot.operations.add_source?.touches ?? []));
  };
  const latest = useRef(add);
  latest.current = add;

  useEffect(() => {
    const onPaste = (event: ClipboardEvent) => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length === 0) return;
      event.preventDefault();
      latest.current(files);
    };
    // Without these, a file dropped beside the zone would replace the application.
    const keep = (event: DragEvent) => event.preventDefault();
    window.addEventListener("paste", onPaste);
    window.addEventListener("dragover", keep);
    window.addEventListener("drop", keep);
    return () => {
      window.removeEventListener("paste", onPaste);
      window.removeEventListener("dragover", keep);
      window.removeEventListener("drop", keep);
    };
  }, []);

  return (
    <section aria-label="Add sources">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button inside has the keys */}
      <div
        className="drop-zone"
        data-over={isOver || undefined}
        onDragOver={() => setOver(true)}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          setOver(false);
          add([...event.dataTransfer.files]);
        }}
      >
        <p>Drop or paste files here. At most {bytes(largest)} each; a source cannot be changed or removed later.</p>
        <Button variant="default" onClick={() => picker.current?.click()}>
          Choose files
        </Button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files to add"
          onChange={(event) => {
            add([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = "";
          }}
        />
      </div>
      <div role="status" aria-label="Added files">
        <ul className="uploads">
          {lines.map(({ key, name, state, why }) => (
            <li key={key}>
              <Shown text={name} /> <span className={`state tone-${tones[state]}`}>{words[state]}</span>
              {why && (
                <span className="small">
                  {" "}
                  <Shown text={why} />
                </span>
              )}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

const refused = (why: string) => ({ state: "refused" as const, why });

async function addOne(file: File, hashes: Map<string, string>): Promise<Partial<Line>> {
  if (file.size > largest) return refused(`It has ${bytes(file.size)}; the maximum is ${bytes(largest)}.`);
  // A dropped folder is a file that cannot be read.
  const read = await file.arrayBuffer().catch(() => undefined);
  if (!read) return refused("It cannot be read. Drop the files of a folder, not the folder.");
  const content = new Uint8Array(read);
  const sha256 = await hashOf(content);
  const twin = sha256 === undefined ? undefined : hashes.get(sha256);
  if (twin !== undefined) return { state: "known", why: `The same content is ${twin}.` };
  const name = file.name.normalize("NFC");
  const done = await call("add_source", { name, content: base64Of(content), encoding: "base64" });
  hashes.set(done.sha256, done.path);
  return { state: done.added ? "added" : "known" };
}

/** Undefined where the browser has no crypto.subtle: on another machine without HTTPS. */
async function hashOf(content: Uint8Array<ArrayBuffer>): Promise<string | undefined> {
  if (!crypto.subtle) return undefined;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function base64Of(content: Uint8Array): string {
  let text = "";
  // More arguments at once overflow the stack.
  for (let at = 0; at < content.length; at += 32_768) text += String.fromCharCode(...content.subarray(at, at + 32_768));
  return btoa(text);
}

import * as z from "zod";
import { operation } from "../../../kernel/operation.ts";
import { ok, type Result, refuse } from "../../../kernel/result.ts";
import type { CrewApp } from "../../record/crew-app.ts";
import { largestFile, readForEdit, writeWithin } from "./files.ts";
import { nearestPassage } from "./nearest-passage.ts";
import { type Desk, folderOf, path, writing } from "./place.ts";

const edit = z.object({
  old: z.string().min(1).max(largestFile),
  new: z.string().max(largestFile),
  replace_all: z.boolean().default(false),
});

type Edit = z.infer<typeof edit>;

export const writeTool = (desk: Desk) =>
  operation({
    ...writing,
    name: "write_file",
    summary: "Create or replace a file.",
    input: z.object({ path, content: z.string().max(largestFile) }),
    output: z.object({ path: z.string(), bytes: z.int() }),
    async run(_app: CrewApp, { path, content }) {
      const written = await writeWithin(await folderOf(desk), path, content);
      return written.ok ? ok({ path, bytes: Buffer.byteLength(content) }) : written;
    },
  });

export const editTool = (desk: Desk) =>
  operation({
    ...writing,
    name: "edit_file",
    summary: "Replace passages of a file; all or none.",
    guidance: "Each `old` must occur exactly once, or set replace_all.",
    input: z.object({ path, edits: z.array(edit).min(1).max(50) }),
    output: z.object({ path: z.string(), lines: z.array(z.int()).describe("Where each edit was made") }),
    async run(_app: CrewApp, { path, edits }) {
      const folder = await folderOf(desk);
      const text = await readForEdit(folder, path);
      if (!text.ok) return text;
      let now = text.value;
      const lines: number[] = [];
      for (const [i, edit] of edits.entries()) {
        const edited = applied(now, edit, path, edits.length > 1 ? `edit ${i + 1}: ` : "");
        if (!edited.ok) return edited;
        now = edited.value.text;
        lines.push(edited.value.line);
      }
      const written = await writeWithin(folder, path, now);
      return written.ok ? ok({ path, lines }) : written;
    },
  });

function applied(text: string, edit: Edit, path: string, which: string): Result<{ text: string; line: number }> {
  const { old, new: fresh, replace_all } = edit;
  const at = text.indexOf(old);
  if (at === -1) return refuse("not_found", `${which}the passage is not in ${path}; ${nearestPassage(text, old)}`);
  const line = lineAt(text, at);
  const again = text.indexOf(old, at + 1);
  if (replace_all) return ok({ text: text.replaceAll(old, () => fresh), line });
  if (again !== -1) {
    return refuse(
      "conflict",
      `${which}the passage occurs more than once in ${path}, at lines ${line} and ${lineAt(text, again)}; include more lines around it, or set replace_all`,
    );
  }
  return ok({ text: text.slice(0, at) + fresh + text.slice(at + old.length), line });
}

const lineAt = (text: string, at: number) => text.slice(0, at).split("\n").length;

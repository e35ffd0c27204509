import * as z from "zod";
import { operation } from "../../../kernel/operation.ts";
import { ok } from "../../../kernel/result.ts";
import type { CrewApp } from "../../record/crew-app.ts";
import { filesOf } from "./files.ts";
import { type Desk, folderOf, glob, reading, skip, under } from "./place.ts";

const pageSize = 500;

export const listTool = (desk: Desk) =>
  operation({
    ...reading,
    name: "list_files",
    summary: "List files, without ignored ones.",
    guidance: "500 paths at a time; `next` if there are more.",
    input: z.object({ under, glob, skip }),
    output: z.object({ files: z.array(z.string()), total: z.int(), next: z.int().optional() }),
    async run(_app: CrewApp, { under, glob, skip }) {
      const folder = await folderOf(desk);
      const files: string[] = [];
      for await (const path of filesOf(folder, { under, glob, exclude: desk.beside?.(folder)?.exclude }))
        files.push(path);
      const next = skip + pageSize;
      const more = next < files.length ? { next } : {};
      return ok({ files: files.slice(skip, next), total: files.length, ...more });
    },
  });

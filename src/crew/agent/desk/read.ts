import * as z from "zod";
import { operation } from "../../../kernel/operation.ts";
import { ok, refuse } from "../../../kernel/result.ts";
import type { CrewApp } from "../../record/crew-app.ts";
import { isBinary, readBytes } from "./files.ts";
import { type Desk, folderOf, path, reading } from "./place.ts";

const longestLine = 2000;
/** What model APIs accept, in base64. */
const largestImage = 3.5 * 1024 * 1024;

export const readTool = (desk: Desk) =>
  operation({
    ...reading,
    name: "read_file",
    summary: "Read a file: text by lines, or an image.",
    input: z.object({
      path,
      from: z
        .int()
        .refine((line) => line !== 0, "lines count from 1")
        .optional()
        .describe("First line; -50: the last 50"),
      lines: z.int().min(1).max(2000).default(400),
      numbers: z.boolean().default(false),
    }),
    output: z.object({
      content: z.string().optional(),
      from: z.int().optional(),
      of: z.int().optional(),
      note: z.string().optional(),
      image: z.object({ media_type: z.string(), data: z.string() }).optional(),
    }),
    async run(_app: CrewApp, { path, from = 1, lines, numbers }) {
      const bytes = await readBytes(await folderOf(desk), path);
      if (!bytes.ok) return bytes;
      const media_type = imageType(bytes.value);
      if (media_type) {
        if (bytes.value.length <= largestImage)
          return ok({ image: { media_type, data: bytes.value.toString("base64") }, note: `${path}, ${media_type}` });
        return refuse("refused", `${path} has ${bytes.value.length} bytes; an image can have ${largestImage}`);
      }
      if (isBinary(bytes.value)) return refuse("refused", `${path} is a binary file; inspect it with run_command`);
      return ok(linesOf(bytes.value.toString("utf8"), { from, lines, numbers }));
    },
  });

type Range = { from: number; lines: number; numbers?: boolean };

/** Part of a text. Long lines are cut, so that a minified file cannot fill the context of a model. */
export function linesOf(text: string, { from, lines, numbers = false }: Range) {
  const all = text.split("\n");
  // The line break at the end of a file does not begin a line.
  const of = all.at(-1) === "" ? all.length - 1 : all.length;
  const first = from > 0 ? from : Math.max(1, of + 1 + from);
  let cut = 0;
  const shown = all
    .slice(0, of)
    .slice(first - 1, first - 1 + lines)
    .map((line, i) => {
      if (line.length > longestLine) cut++;
      const short = line.length > longestLine ? `${line.slice(0, longestLine)}… (${line.length} characters)` : line;
      return numbers ? `${first + i}\t${short}` : short;
    });
  const isEnd = of < all.length && first - 1 + lines >= of && shown.length > 0;
  const note = cut > 0 ? { note: `${cut} lines are longer than ${longestLine} characters and were cut` } : {};
  return { content: shown.join("\n") + (isEnd ? "\n" : ""), from: first, of, ...note };
}

/** By content: the name of a file does not prove anything. */
function imageType(bytes: Buffer): string | undefined {
  const at = (from: number, text: string) => bytes.toString("latin1", from, from + text.length) === text;
  if (at(0, "\x89PNG\r\n\x1a\n")) return "image/png";
  if (at(0, "\xff\xd8\xff")) return "image/jpeg";
  if (at(0, "GIF87a") || at(0, "GIF89a")) return "image/gif";
  if (at(0, "RIFF") && at(8, "WEBP")) return "image/webp";
  return undefined;
}

import { parentPort } from "node:worker_threads";
import mammoth from "mammoth";
import rehypeParse from "rehype-parse";
import rehypeRemark from "rehype-remark";
import remarkGfm from "remark-gfm";
import remarkStringify from "remark-stringify";
import { unified } from "unified";
import { extractText, getDocumentProxy } from "unpdf";
import { unpackedSize } from "./unpacked.ts";

/** A thread that reads what others made, and may be hostile. */

export type Parsed = "html" | "pdf" | "docx";
export type Question = { format: Parsed; bytes: Uint8Array };
/** Undefined when it only claims to be what it is called. */
export type Answer = string | undefined;

/** As much XML as a book of thousands of pages has. */
const mostXml = 64 * 1024 * 1024;

parentPort?.on("message", async ({ format, bytes }: Question) => {
  const text = await readers[format](Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).catch(
    () => undefined,
  );
  parentPort?.postMessage(text satisfies Answer);
});

const readers: Record<Parsed, (bytes: Buffer) => Promise<Answer>> = {
  html: async (bytes) => fromHtml(bytes.toString("utf8")),

  async pdf(bytes) {
    const { text } = await extractText(await getDocumentProxy(new Uint8Array(bytes)), { mergePages: false });
    // A page is a section: a hit can say which.
    return text.map((page, at) => `# Page ${at + 1}\n\n${page}`).join("\n\n");
  },

  async docx(bytes) {
    const size = unpackedSize(bytes, /\.(xml|rels)$/i, mostXml);
    if (size === 0 || size > mostXml) return undefined;
    const withoutPictures = { convertImage: mammoth.images.imgElement(async () => ({ src: "" })) };
    const { value } = await mammoth.convertToHtml({ buffer: bytes }, withoutPictures);
    return fromHtml(value);
  },
};

/** Markdown, so that headings, lists and tables keep their shape. Scripts and styles are no text, and of a picture its words are. */
async function fromHtml(html: string): Promise<string> {
  const handlers = {
    img: (_state: unknown, node: { properties?: { alt?: unknown } }) => ({
      type: "text" as const,
      value: typeof node.properties?.alt === "string" ? node.properties.alt : "",
    }),
  };
  const reader = unified().use(rehypeParse).use(rehypeRemark, { handlers }).use(remarkGfm).use(remarkStringify);
  return String(await reader.process(html));
}

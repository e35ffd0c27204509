import { parentPort } from "node:worker_threads";
import rehypeParse from "rehype-parse";
import rehypeRemark from "rehype-remark";
import remarkGfm from "remark-gfm";
import remarkStringify from "remark-stringify";
import { unified } from "unified";
import { unpackedSize } from "./unpacked.ts";

/** A thread that parses untrusted files. Each parser is a chunk of its own that is loaded with the first file of its format. */

export type Parsed = "html" | "pdf" | "docx";
export type Question = { format: Parsed; bytes: Uint8Array };
/** Undefined when the content is not of the format that its name says. */
export type Answer = string | undefined;

/** The XML of a book of several thousand pages. */
const maxXmlBytes = 64 * 1024 * 1024;

parentPort?.on("message", async ({ format, bytes }: Question) => {
  const text = await readers[format](Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).catch(
    () => undefined,
  );
  parentPort?.postMessage(text satisfies Answer);
});

const readers: Record<Parsed, (bytes: Buffer) => Promise<Answer>> = {
  html: async (bytes) => fromHtml(bytes.toString("utf8")),

  async pdf(bytes) {
    const { extractText, getDocumentProxy } = await import("unpdf");
    const { text } = await extractText(await getDocumentProxy(new Uint8Array(bytes)), { mergePages: false });
    // One section per page, so that a search hit names the page.
    return text.map((page, at) => `# Page ${at + 1}\n\n${page}`).join("\n\n");
  },

  async docx(bytes) {
    const size = unpackedSize(bytes, /\.(xml|rels)$/i, maxXmlBytes);
    if (size === 0 || size > maxXmlBytes) return undefined;
    const { default: mammoth } = await import("mammoth");
    const withoutPictures = { convertImage: mammoth.images.imgElement(async () => ({ src: "" })) };
    const { value } = await mammoth.convertToHtml({ buffer: bytes }, withoutPictures);
    return fromHtml(value);
  },
};

/** Converts to markdown, which keeps headings, lists and tables. Scripts and styles are dropped; an image becomes its alt text. */
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

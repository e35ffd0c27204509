import { extname } from "node:path";

export type Extracted = { format: "text" | "html" | "pdf" | "docx"; text: string };

/** The text of a source, or undefined when there is none in it that we can read. The parsers are loaded when needed. */
export async function extract(name: string, bytes: Buffer): Promise<Extracted | undefined> {
  const format = formatOf(name, bytes);
  if (format === undefined) return undefined;
  try {
    const text = await readers[format](bytes);
    return { format, text: text.replaceAll("\0", "").trim() };
  } catch {
    // A file that only claims to be one of these is kept like any other, and found by its name.
    return { format, text: "" };
  }
}

function formatOf(name: string, bytes: Buffer): Extracted["format"] | undefined {
  if (bytes.subarray(0, 5).toString("latin1") === "%PDF-") return "pdf";
  const ending = extname(name).toLowerCase();
  if (ending === ".docx" && bytes.subarray(0, 2).toString("latin1") === "PK") return "docx";
  if (bytes.subarray(0, 8000).includes(0)) return undefined;
  return [".html", ".htm", ".xhtml"].includes(ending) ? "html" : "text";
}

const readers: Record<Extracted["format"], (bytes: Buffer) => Promise<string>> = {
  text: async (bytes) => bytes.toString("utf8").replace(/^\ufeff/, ""),

  async html(bytes) {
    return fromHtml(bytes.toString("utf8"));
  },

  async pdf(bytes) {
    const { extractText, getDocumentProxy } = await import("unpdf");
    const { text } = await extractText(await getDocumentProxy(new Uint8Array(bytes)), { mergePages: false });
    // A page is a section: a hit can say which.
    return text.map((page, at) => `# Page ${at + 1}\n\n${page}`).join("\n\n");
  },

  async docx(bytes) {
    const { default: mammoth } = await import("mammoth");
    const { value } = await mammoth.convertToHtml({ buffer: bytes });
    return fromHtml(value);
  },
};

/** Markdown, so that headings, lists and tables keep their shape. Scripts and styles are no text. */
async function fromHtml(html: string): Promise<string> {
  const [{ unified }, { default: parse }, { default: toMarkdown }, { default: gfm }, { default: spell }] =
    await Promise.all([
      import("unified"),
      import("rehype-parse"),
      import("rehype-remark"),
      import("remark-gfm"),
      import("remark-stringify"),
    ]);
  return String(await unified().use(parse).use(toMarkdown).use(gfm).use(spell).process(html));
}

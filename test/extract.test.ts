import { deflateRawSync, deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { unpackedSize } from "../src/wiki/sources/extract/unpacked.ts";
import { extractor } from "../src/wiki/sources/extract.ts";
import { fixture } from "./support/fixture.ts";

const mb = 1024 * 1024;
const limits = { ms: 20_000, heapMb: 512, bytes: 128 * mb, characters: 1000 };
const words = Buffer.from("<h1>Herons</h1><p>They nest in the quarry</p>");

/** A zip archive of one file, which says of itself that it has ten bytes. */
function zipOf(name: string, content: Buffer): Buffer {
  const packed = deflateRawSync(content);
  const field = (size: number, value: number) => {
    const bytes = Buffer.alloc(size);
    bytes.writeUIntLE(value, 0, size);
    return bytes;
  };
  const about = [
    field(2, 20),
    field(2, 0),
    field(2, 8),
    field(4, 0),
    field(4, 0),
    field(4, packed.length),
    field(4, 10),
  ];
  const named = [field(2, name.length), field(2, 0)];
  const local = Buffer.concat([Buffer.from("PK\x03\x04"), ...about, ...named, Buffer.from(name), packed]);
  const rest = [field(2, 0), field(2, 0), field(2, 0), field(4, 0), field(4, 0)];
  const entry = Buffer.concat([
    Buffer.from("PK\x01\x02"),
    field(2, 20),
    ...about,
    ...named,
    ...rest,
    Buffer.from(name),
  ]);
  const end = [field(4, 0), field(2, 1), field(2, 1), field(4, entry.length), field(4, local.length), field(2, 0)];
  return Buffer.concat([local, entry, Buffer.from("PK\x05\x06"), ...end]);
}

test("T23: an archive is measured by what is in it, whatever it says of itself", () => {
  const small = zipOf("word/document.xml", Buffer.alloc(5000, "x"));
  expect(unpackedSize(small, /\.xml$/, mb)).toBe(5000);
  expect(unpackedSize(small, /\.png$/, mb)).toBe(0);
  expect(unpackedSize(zipOf("a.xml", Buffer.alloc(9 * mb)), /\.xml$/, mb)).toBeGreaterThan(mb);
  for (const broken of ["", "PK", "PK\x05\x06", `PK\x05\x06${"\xff".repeat(30)}`])
    expect(unpackedSize(Buffer.from(broken, "latin1"), /./, mb)).toBe(0);
});

test("T23: what takes too much is kept without its text, and the next file is read as ever", async () => {
  const extract = extractor(limits);
  const bomb = zipOf("word/document.xml", Buffer.alloc(80 * mb, " "));
  const stream = deflateSync(Buffer.alloc(300 * mb, " "));
  const hostile = {
    "bomb.docx": bomb,
    "bomb.pdf": pdfOf(stream),
    "broken.docx": Buffer.from("PK and no more"),
    "broken.pdf": Buffer.from("%PDF-1.7 and no more"),
    "deep.html": Buffer.from("<div>".repeat(20_000)),
  };
  const answers = await Promise.all(Object.entries(hostile).map(([name, bytes]) => extract(name, bytes)));
  for (const [at, name] of Object.keys(hostile).entries())
    expect(answers[at], name).toEqual({ format: name.split(".")[1], text: "" });
  expect((await extract("a.html", words))?.text).toBe("# Herons\n\nThey nest in the quarry");
  expect((await extract("long.html", Buffer.from("word ".repeat(1000))))?.text.length).toBeLessThanOrEqual(1000);
});

test("K1: of a picture its words are taken, never its bytes", async () => {
  const extract = extractor(limits);
  const html = '<p>Before <img alt="a heron" src="data:image/png;base64,AAAABBBBCCCC"> after</p>';
  expect((await extract("p.html", Buffer.from(html)))?.text).toBe("Before a heron after");
  expect((await extract("p.docx", fixture("picture.docx")))?.text).toBe("Egret");
});

/** One page, whose content is this stream. */
function pdfOf(stream: Buffer): Buffer {
  const head = Buffer.from(
    "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
      "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n" +
      `4 0 obj<</Filter/FlateDecode/Length ${stream.length}>>stream\n`,
  );
  return Buffer.concat([head, stream, Buffer.from("\nendstream endobj\ntrailer<</Root 1 0 R/Size 5>>\n%%EOF\n")]);
}

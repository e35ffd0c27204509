import { inflateRawSync } from "node:zlib";

/**
 * The uncompressed size of the matching files of a zip archive, found by decompressing them: the sizes
 * in the archive's headers are not trustworthy. Stops counting above `most`.
 */
export function unpackedSize(archive: Buffer, names: RegExp, most: number): number {
  let size = 0;
  for (const packed of filesOf(archive, names)) {
    size += sizeOf(packed, most);
    if (size > most) return size;
  }
  return size;
}

type Packed = { method: number; bytes: Buffer };

function sizeOf({ method, bytes }: Packed, most: number): number {
  if (method === stored) return bytes.length;
  try {
    return inflateRawSync(bytes, { maxOutputLength: most }).length;
  } catch (error) {
    // Data that does not decompress counts 0: the parser cannot decompress it either.
    return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? most + 1 : 0;
  }
}

const stored = 0;
const endOfDirectory = Buffer.from("PK\x05\x06", "latin1");
const directoryEntry = 0x02014b50;
const localHeader = 0x04034b50;

/** Reads the central directory at the end, as the parsers do. */
function* filesOf(archive: Buffer, names: RegExp): Generator<Packed> {
  const end = archive.lastIndexOf(endOfDirectory);
  if (end < 0 || end + 20 > archive.length) return;
  let at = archive.readUInt32LE(end + 16);
  while (at + 46 <= archive.length && archive.readUInt32LE(at) === directoryEntry) {
    const [length, extra, comment] = [28, 30, 32].map((field) => archive.readUInt16LE(at + field)) as [
      number,
      number,
      number,
    ];
    const name = archive.toString("utf8", at + 46, at + 46 + length);
    const local = archive.readUInt32LE(at + 42);
    if (names.test(name) && local + 30 <= archive.length && archive.readUInt32LE(local) === localHeader) {
      const from = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
      yield {
        method: archive.readUInt16LE(at + 10),
        bytes: archive.subarray(from, from + archive.readUInt32LE(at + 20)),
      };
    }
    at += 46 + length + extra + comment;
  }
}

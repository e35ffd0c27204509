/** Keeps the last `size` bytes of a stream. */
export function boundedTail(size: number): { push(chunk: Buffer): void; text(): string } {
  let kept: Buffer = Buffer.alloc(0);
  return {
    push(chunk) {
      // Copied: a slice would keep the whole chunk in memory.
      kept = Buffer.concat([kept.subarray(Math.max(0, kept.length + chunk.length - size)), chunk.subarray(-size)]);
    },
    text() {
      // Skip the rest of a UTF-8 character that was cut.
      let start = 0;
      while (start < Math.min(3, kept.length) && ((kept[start] ?? 0) & 0xc0) === 0x80) start++;
      return kept.subarray(start).toString("utf8");
    },
  };
}

/** Splits a stream into lines; drops lines longer than `maxLength` bytes. */
export function lineSplitter(maxLength: number, onLine: (line: string) => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let length = 0;
  let tooLong = false;

  const end = () => {
    if (!tooLong && length > 0) onLine(Buffer.concat(parts).toString("utf8"));
    parts = [];
    length = 0;
    tooLong = false;
  };
  const add = (piece: Buffer) => {
    if (tooLong) return;
    length += piece.length;
    tooLong = length > maxLength;
    if (tooLong) parts = [];
    else parts.push(piece);
  };
  return (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      add(chunk.subarray(from, at));
      end();
      from = at + 1;
    }
    if (from < chunk.length) add(chunk.subarray(from));
  };
}

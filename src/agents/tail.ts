/** The last bytes of a stream, in bounded memory however much flows by. */
export function boundedTail(size: number): { push(chunk: Buffer): void; text(): string } {
  let kept: Buffer = Buffer.alloc(0);
  return {
    push(chunk) {
      // A copy: a slice would keep the whole chunk it was cut from.
      kept = Buffer.concat([kept.subarray(Math.max(0, kept.length + chunk.length - size)), chunk.subarray(-size)]);
    },
    text() {
      // What was cut in the middle of a character starts with its continuation bytes.
      let start = 0;
      while (start < Math.min(3, kept.length) && ((kept[start] ?? 0) & 0xc0) === 0x80) start++;
      return kept.subarray(start).toString("utf8");
    },
  };
}

/** Cuts a stream into lines; one that grows past `longest` is dropped, as nobody means to read it. */
export function lineSplitter(longest: number, onLine: (line: string) => void): (chunk: Buffer) => void {
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
    tooLong = length > longest;
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

import { createHash } from "node:crypto";
import type { Database } from "../store/database.ts";
import { lastEvent } from "../store/queries/event-log.ts";
import { findSource } from "../store/queries/sources.ts";
import type { Ref } from "./refs.ts";

type Deps = {
  db: Database;
  /** The text of a source that is intact. */
  sourceText(source: { path: string; sha256: string }): Promise<string | undefined>;
  /** A file of the workspace. */
  file(path: string): Buffer | undefined;
};

/** Compares cited lines with what they said. Lines that only moved within their source still say the same. */
export function citedSources({ db, sourceText, file }: Deps) {
  async function textOf(
    ref: string,
  ): Promise<{ text: string | undefined; whole: string; replaced: boolean } | undefined> {
    const [kind, ...rest] = ref.split(":");
    let path = rest.join(":");
    if (kind === "file") {
      const bytes = file(path);
      return bytes && { text: bytes.toString("utf8"), whole: "there", replaced: false };
    }
    for (let steps = 0; steps < 50; steps++) {
      const source = await findSource(db.read, path);
      if (!source) return undefined;
      if (source.gone_at === null) {
        const text = await sourceText(source);
        return text === undefined ? undefined : { text, whole: source.sha256, replaced: steps > 0 };
      }
      const by = (await lastEvent(db.read, `source:${path}`, ["source-replaced"]))?.data.by;
      if (typeof by !== "string") return undefined;
      path = by;
    }
    return undefined;
  }

  return {
    /** What it says now; undefined when there is nothing to cite. */
    async look({ ref, lines }: Ref): Promise<string | undefined> {
      const found = await textOf(ref);
      if (!found) return undefined;
      if (lines === "") return found.whole;
      const { from, to } = rangeOf(lines);
      const all = linesOf(found.text ?? "");
      return from > all.length ? undefined : finger(all.slice(from - 1, to));
    },

    /** Whether it still says what was seen. A source that was gone when the passage was verified cannot vanish again. */
    async check({ ref, lines }: Ref, seen: string): Promise<"changed" | "gone" | undefined> {
      if (seen === "") return undefined;
      const found = await textOf(ref);
      if (!found) return "gone";
      if (lines === "") return found.whole === seen ? undefined : "changed";
      const count = Number(seen.split(":")[0]);
      const all = linesOf(found.text ?? "");
      const { from } = rangeOf(lines);
      if (finger(all.slice(from - 1, from - 1 + count)) === seen) return undefined;
      for (let at = 0; at + count <= all.length; at++) if (finger(all.slice(at, at + count)) === seen) return undefined;
      return "changed";
    },
  };
}

export type CitedSources = ReturnType<typeof citedSources>;

function rangeOf(lines: string): { from: number; to: number } {
  const [from = 1, to = from] = lines.split("-").map(Number);
  return { from: Math.max(1, from), to: Math.max(from, to) };
}

const linesOf = (text: string) => text.replaceAll("\r\n", "\n").split("\n");

const finger = (lines: string[]) =>
  `${lines.length}:${createHash("sha256")
    .update(lines.map((line) => line.trim()).join("\n"))
    .digest("base64url")
    .slice(0, 22)}`;

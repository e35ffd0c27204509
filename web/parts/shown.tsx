import { splitHidden } from "../../src/kernel/hidden.ts";
import { withoutSigns } from "./plain.ts";

/** Text from agents and people, with hidden characters spelled out. */
export function Shown({ text }: { text: string }) {
  const pieces = splitHidden(text);
  if (pieces.length === 1 && !pieces[0]?.hidden) return <>{text}</>;
  return (
    <>
      {pieces.map((piece, at) =>
        piece.hidden ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text never move
          <span key={at} className="hidden-char" title="hidden character">
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </>
  );
}

/** A search snippet: what matched stands between « and ». */
export function Snippet({ text }: { text: string }) {
  const [before = "", ...rest] = withoutSigns(text).split("«");
  return (
    <>
      <Shown text={before} />
      {rest.map((part, at) => {
        const [hit = "", ...after] = part.split("»");
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one snippet never move
          <span key={at}>
            <mark>
              <Shown text={hit} />
            </mark>
            <Shown text={after.join("»")} />
          </span>
        );
      })}
    </>
  );
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

const spell = (key: string) =>
  key
    .replace("mod+", isMac ? "⌘" : "Ctrl ")
    .replace("shift+", isMac ? "⇧" : "Shift ")
    .replace("enter", "↵");

export const spellKeys = (keys: string) =>
  keys
    .split(" ")
    .map((key) => spell(key).toUpperCase())
    .join(" then ");

/** A shortcut as people read it. */
export function Keys({ keys }: { keys: string }) {
  return (
    <span className="keys">
      {keys.split(" ").map((key, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same key may come twice, in a fixed order
        <kbd key={at}>{spell(key).toUpperCase()}</kbd>
      ))}
    </span>
  );
}

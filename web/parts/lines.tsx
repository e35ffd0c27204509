import { Shown } from "./shown.tsx";

/** A text as it is, line by line, hidden characters spelled out. */
export function Lines({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, and keys must be able to do that
    <section className="lines" aria-label={label} tabIndex={0}>
      <table>
        <tbody>
          {text
            .replace(/\n$/, "")
            .split("\n")
            .map((line, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
              <tr key={at} id={`L${at + 1}`}>
                <td className="number">{at + 1}</td>
                <td className="code">
                  <Shown text={line} />
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  );
}

import { useOperation } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";

/** The file as it is, line by line, hidden characters spelled out. */
export function SourceView({ path }: { path: string }) {
  const page = useOperation("read_page", { path });
  if (page.error) return <Failed error={page.error} again={() => void page.refetch()} />;
  if (!page.data) return <Loading lines={12} />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, and keys must be able to do that
    <section className="lines" aria-label="Source text" tabIndex={0}>
      <table>
        <tbody>
          {page.data.text
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

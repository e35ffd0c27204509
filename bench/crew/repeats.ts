import type { App } from "../../src/app.ts";
import { noteFragments } from "../../src/crew/record/sent-contexts.ts";
import { type Fragment, merged, shortened } from "../../src/crew/rules/fingerprint.ts";
import type { Query } from "../../src/store/database.ts";
import { percentile, timed } from "../support/measure.ts";

const known = 10_000;
const rounds = 300;

/**
 * How long it takes to find out what of a worker's context the fleet was sent before, among ten thousand
 * fragments, and to keep that; beside it, what keeping a single row costs on this machine now.
 */
export async function checkRepeats(app: App): Promise<{ p50: number; p99: number; plain: number }> {
  const at = app.now().toISOString();
  const note = (fragments: Fragment[]) =>
    app.db.write((tx) =>
      noteFragments(
        tx,
        merged(fragments).map((one) => ({
          kind: one.kind,
          hash: one.hash,
          characters: one.text.length,
          sent: shortened(one).length,
          times: one.times,
        })),
        "run-bench",
        at,
      ),
    );
  for (let i = 0; i < known; i += 500) await note(Array.from({ length: 500 }, (_, k) => fragment(i + k)));
  const took: number[] = [];
  const plain: number[] = [];
  // What a worker is sent at the most: ten files, five dependencies, and the errors of an attempt before.
  for (let i = 0; i < rounds; i++) {
    const some = Array.from({ length: 25 }, (_, k) =>
      fragment(k % 5 === 0 ? known + i * 25 + k : (i * 7919 + k) % known),
    );
    took.push(await timed(() => note(some)));
    plain.push(await timed(() => app.db.write((tx) => countOne(tx, i))));
  }
  return { p50: percentile(took, 0.5), p99: percentile(took, 0.99), plain: percentile(plain, 0.5) };
}

const countOne = (tx: Query, uses: number) =>
  tx
    .updateTable("fingerprints")
    .set({ uses })
    .where("hash", "=", merged([fragment(0)])[0]?.hash ?? "")
    .execute();

const fragment = (i: number): Fragment => ({
  kind: "dependency",
  text: `Task ${i} left this behind. ${"It says what was made, where it is and how that was seen. ".repeat(40)}`,
  where: `task ${i}`,
});

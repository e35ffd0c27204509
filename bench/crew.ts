/** A crew beside one agent on the same projects (O17): what is sent to the model, how long it takes, what comes out right. See bench/README.md. */
import { availableParallelism, loadavg } from "node:os";
import { countTokens } from "gpt-tokenizer";
import { findSandbox } from "../src/agents/sandbox.ts";
import { unwrap } from "../src/kernel/result.ts";
import { compare, workers } from "./crew/compare.ts";
import { sizes } from "./crew/project.ts";
import { openPlace } from "./support/place.ts";
import { spell } from "./support/table.ts";

async function main(wanted: string[]): Promise<void> {
  const place = openPlace();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void place.leave().then(() => process.exit(1)));
  try {
    const sandbox = await findSandbox("auto", place.environment);
    const box = sandbox.ok ? sandbox.value : unwrap(await findSandbox("none", place.environment));
    const load = (loadavg()[0] ?? 0).toFixed(1);
    console.log(
      `${availableParallelism()} cores (load ${load}), Node ${process.versions.node}, sandbox ${box.name}, ${workers} workers`,
    );
    console.log("Scripted model; tokens of tools, system text and messages, counted by the tokenizer o200k.\n");
    for (const size of sizes.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
      console.log(spell(await compare(place, size, box, countTokens)));
    }
  } finally {
    await place.leave();
  }
}

await main(process.argv.slice(2));

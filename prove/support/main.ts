/** Started by scripts/prove.mjs with a plan; runs each proof in turn and reports. */
import { writeFileSync } from "node:fs";
import { attempt } from "./context.ts";
import { failed, type Outcome, type Proof } from "./proof.ts";
import { failures, page, table } from "./report.ts";

type Plan = {
  names: string[];
  seed: number;
  until: number;
  command: string;
  commit: string;
  page: string | null;
};

const plan = JSON.parse(process.argv[2] ?? "") as Plan;
const outcomes: Outcome[] = [];
for (const [at, name] of plan.names.entries()) {
  const { proof } = (await import(new URL(`./${name}.js`, import.meta.url).href)) as { proof: Proof };
  const share = (plan.until - Date.now()) / (plan.names.length - at);
  process.stderr.write(`${name}: ${Math.max(0, Math.round(share / 1000))} s\n`);
  outcomes.push(await attempt(name, proof, plan.seed + at, Date.now() + share));
}

console.log(table(outcomes));
for (const line of failures(outcomes)) console.log(`  ${line}`);
if (plan.page) {
  const node = `Node ${process.versions.node}, ${process.platform} ${process.arch}`;
  writeFileSync(plan.page, page({ ...plan, date: new Date().toISOString().slice(0, 10), node, outcomes }));
}
// Commands that were killed late may still hold handles.
process.exit(outcomes.some(failed) ? 1 : 0);

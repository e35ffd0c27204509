/** Started by scripts/prove.mjs with a plan; runs each proof in turn and reports. */
import { writeFileSync } from "node:fs";
import { attempt } from "./context.ts";
import { failed, type Outcome, type Proof } from "./proof.ts";
import { failures, page, tables } from "./report.ts";

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
const proofs: { name: string; proof: Proof }[] = [];
for (const name of plan.names) proofs.push({ name, ...(await import(new URL(`./${name}.js`, import.meta.url).href)) });
const weightOf = ({ proof }: { proof: Proof }) => proof.weight ?? 1;
for (const [at, { name, proof }] of proofs.entries()) {
  const left = proofs.slice(at).reduce((sum, each) => sum + weightOf(each), 0);
  const share = ((plan.until - Date.now()) * weightOf({ proof })) / left;
  process.stderr.write(`${name}: ${Math.max(0, Math.round(share / 1000))} s\n`);
  outcomes.push(await attempt(name, proof, plan.seed + at, Date.now() + share));
}

console.log(tables(outcomes));
for (const line of failures(outcomes)) console.log(`  ${line}`);
if (plan.page) {
  const node = `Node ${process.versions.node}, ${process.platform} ${process.arch}`;
  writeFileSync(plan.page, page({ ...plan, date: new Date().toISOString().slice(0, 10), node, outcomes }));
}
// Commands that were killed late may still hold handles.
process.exit(outcomes.some(failed) ? 1 : 0);

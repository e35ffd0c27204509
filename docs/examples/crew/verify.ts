// Verifies what workers of other processes complete, until it is stopped: node verify.js FOLDER
import { openWorkspace } from "scriptorium";

const workspace = await openWorkspace(process.argv[2] ?? ".");
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
const crew = await workspace.crew({ signal: stop.signal });
if (!crew.ok) throw new Error(crew.problem.message);

const verified = await crew.value.qc.verifyCompletedTasks(undefined, { wait: true, verifiers: 4 });
if (verified.ok) for (const { run, number, state } of verified.value.tasks) console.log(`${run} ${number}: ${state}`);
await workspace.close();

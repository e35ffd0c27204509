// Carries out a request in a workspace: node run.js FOLDER "REQUEST"
import { openWorkspace, type Result } from "scriptorium";

const [folder = ".", request = ""] = process.argv.slice(2);
const workspace = await openWorkspace(folder);
try {
  const { pm, pool, qc } = unwrap(await workspace.crew());
  const research = unwrap(await pm.research(request));
  const graph = unwrap(await pm.createTaskGraph(research));
  for (const { number, title } of graph.tasks) console.log(`planned ${number}: ${title}`);

  // Until here the plan can be edited: in the file graph.chain, or with show_plan and save_plan.
  unwrap(await pm.start(graph.run));
  unwrap(pool.spawn(2));
  const { tasks, finished } = unwrap(await qc.verifyCompletedTasks(graph.run, { wait: true, verifiers: 2 }));

  for (const { number, state, verdict } of tasks) console.log(`${state} ${number}: score ${verdict?.score ?? "-"}`);
  for (const { state, branch, report } of finished) console.log(`${state}: ${branch ?? "no files"}, ${report}`);
  console.log(`claims took ${pool.metrics().claimMs.p50.toFixed(0)} ms, healthy: ${pool.healthCheck().healthy}`);
  await pool.stop(5000);
} finally {
  await workspace.close();
}

function unwrap<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.problem.message);
  return result.value;
}

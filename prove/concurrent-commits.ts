import { answerOf, checkIntact, newWorkspace, run } from "./support/commands.ts";
import { startServer } from "./support/mcp.ts";
import type { Context, Proof } from "./support/proof.ts";

export const proof: Proof = {
  promise: "Of concurrent commits on one version exactly one wins; the others get `conflict` with the winner's text",
  async run(context) {
    const root = await newWorkspace(context);
    const servers = await Promise.all(Array.from({ length: 4 }, () => startServer(context, root, "planner")));
    const rounds = { servers: 0, commands: 0 };
    let version = 1;
    while (Date.now() < context.until) {
      // Servers answer in milliseconds and race closely; commands show the same between new processes.
      const isCommands = rounds.servers >= 50 * (rounds.commands + 1);
      rounds[isCommands ? "commands" : "servers"]++;
      const racers = servers.slice(0, 2 + Math.floor(context.random() * 3));
      const texts = racers.map((_, n) => `Version ${version + 1} by racer ${n}.\n`);
      const answers = await Promise.all(
        racers.map((server, n) =>
          isCommands
            ? commitByCommand(context, root, version, texts[n] ?? "")
            : server.call("commit_entry", { id: "vision", content: texts[n], version }),
        ),
      );
      const winners = answers.flatMap((answer, n) => (answer?.status === "success" ? [n] : []));
      const winner = texts[winners[0] ?? -1];
      const losers = answers.filter((answer) => answer?.status !== "success");
      const isRight =
        winners.length === 1 &&
        answers[winners[0] ?? -1]?.version === version + 1 &&
        losers.every(
          (answer) =>
            answer?.status === "conflict" && answer.latestContent === winner && answer.latestVersion === version + 1,
        );
      context.check(isRight, `on version ${version}: ${JSON.stringify(answers)}`);
      // Without exactly one winner the next version is unknown.
      if (winners.length !== 1) break;
      version++;
      context.note(`${rounds.servers} rounds of 2 to 4 MCP servers, ${rounds.commands} of \`scribe\` processes`);
    }
    await Promise.all(servers.map((server) => server.kill()));
    await checkIntact(context, root, `${version - 1} rounds`);
  },
};

async function commitByCommand(context: Context, root: string, version: number, input: string) {
  const args = ["commit-entry", "--role", "planner", "--id", "vision", "--version", String(version)];
  return answerOf((await run(context, "scribe", args, { cwd: root, input })).stdout);
}

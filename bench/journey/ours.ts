import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../test/support/model-wire.ts";
import { signIn } from "../../test/support/requests.ts";
import { firstWrite, type Server } from "./mcp.ts";
import { mind } from "./mind.ts";
import type { Product } from "./products.ts";
import { lineOf, pageAt } from "./steps.ts";

/** Scriptorium from its packed tarball. */
export const scriptorium = (tarball: string): Product => ({
  name: "Scriptorium",
  spec: tarball,
  notes: [
    "Scriptorium: the agent of the job is a shell script and the model of the crew run a scripted server, so the seconds are Scriptorium's own.",
  ],
  walks: {
    async "a page in the browser"(person) {
      await person.type("scriptorium", ["init", "--yes", "--connect", "none"]);
      await person.serve("scriptorium", ["serve", "--port", "0", "--json"], async (server) => {
        const { url, link } = JSON.parse(await lineOf(server));
        await pageAt(url, await signIn(link));
      });
      return undefined;
    },
    async "a first task"(person) {
      await person.type("scriptorium", ["init", "--yes", "--connect", "none"]);
      await person.type("scriptorium", ["task", "add", "First", "task"]);
      return undefined;
    },
    async "an agent's first write by MCP"(person) {
      await person.type("scriptorium", ["init", "--yes", "--connect", "claude"]);
      const { mcpServers } = JSON.parse(readFileSync(join(person.root, ".mcp.json"), "utf8"));
      const write = { id: "overview", content: "A project about lamps.", version: 1 };
      return firstWrite(person, mcpServers.scriptorium as Server, [{ name: "commit_entry", arguments: write }]);
    },
    async "a job to a proposal"(person) {
      // The repository has a page to discuss; writing it is not part of the journey.
      mkdirSync(join(person.root, "docs"));
      writeFileSync(join(person.root, "docs/deploy.md"), "# Deploy\n\nPush the button.\n");
      await person.output("git", ["add", "docs"]);
      await person.output("git", ["commit", "--quiet", "--message", "Describe the deployment"]);
      await person.type("scriptorium", ["init", "--yes", "--connect", "none"]);
      const program = join(person.env.HOME ?? "", "agent");
      writeFileSync(program, agentScript);
      chmodSync(program, 0o755);
      const agent = { author_name: "Agent", author_email: "a@example.org", runner: "command", command: [program] };
      person.edit("add agent: to scriptorium.yaml", () =>
        appendFileSync(
          join(person.root, "scriptorium.yaml"),
          `agent: ${JSON.stringify({ ...agent, isolation: "workspace" })}\n`,
        ),
      );
      const quote = ["--quote", "Push the button.", "--message", "Which button?", "--json"];
      const opened = await person.type("scriptorium", ["topic", "open", "docs/deploy.md", ...quote]);
      const topic = JSON.parse(opened).id as string;
      await person.type("scriptorium", ["job", "start", "--kind", "incorporate", "--topic", topic, "--wait"]);
      const listed = await person.output("scriptorium", ["proposal", "list", "--json"]);
      if (!listed.includes(topic)) throw new Error(`no proposal for ${topic}: ${listed.slice(0, 300)}`);
      return undefined;
    },
    async "a crew run"(person, place) {
      await person.type("scriptorium", ["init", "--yes", "--connect", "none", "--template", "crew"]);
      const model = await startModelServer(mind);
      place.onLeave(model.close);
      const crew = {
        sandbox: "none",
        agents: { all: { runner: "model", model: "fake/one" } },
        providers: { fake: { kind: "openai", base_url: `${model.url}/v1`, key_env: "FAKE_KEY" } },
      };
      person.env.FAKE_KEY = "none";
      person.edit("add crew: to scriptorium.yaml", () =>
        appendFileSync(join(person.root, "scriptorium.yaml"), `crew: ${JSON.stringify(crew)}\n`),
      );
      await person.type("git", ["commit", "--quiet", "--all", "--message", "Configure the crew"]);
      await person.type("scriptorium", ["plan", "Write two pages"]);
      await person.type("scriptorium", ["execute"]);
      await model.close();
      return undefined;
    },
    async "a demo crew run"(person) {
      await person.type("scriptorium", ["demo", "--no-open"]);
      return undefined;
    },
  },
});

/** Does what the job's skill says, without a model. */
const agentScript = `#!/bin/sh
prompt=$(cat)
of() { printf '%s\\n' "$prompt" | sed -n "s/^$1: //p"; }
{ cat "$(of 'Source path')"; echo; echo "Press the green button."; } |
  "$(of 'Agent CLI path')" insert-proposal --config "$(of 'Config file')" --topic-id "$(of 'Topic ID')" --base-sha "$(of 'Base source SHA')"
`;

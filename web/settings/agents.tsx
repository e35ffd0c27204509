import { Button, Radio, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { mayCall, type Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { SourceDiff } from "../parts/source-diff.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";

type Agents = Output<"show_agents">;
type Program = Agents["programs"][number];

/** Set-up of the agent that runs jobs: found on this machine, written after its diff was seen, tested with a real call. */
export function AgentSettings() {
  useTitle("Agents");
  const isAdmin = mayCall("show_agents");
  const { data, error, refetch } = useOperation("show_agents", {}, { enabled: isAdmin });
  return (
    <div className="column">
      <div className="page-head">
        <h1>Agents</h1>
        <p className="lead">
          The program that answers topics, rewrites pages and works in runs. It starts on this machine, in a sandbox.
        </p>
      </div>
      {!isAdmin && <p className="note">Only admins can see and set up agents.</p>}
      {error && <Failed error={error} again={() => void refetch()} />}
      {isAdmin && !data && !error && <Loading />}
      {data && (
        <>
          <InUse agents={data} />
          <Choose agents={data} onLookAgain={() => void refetch()} />
        </>
      )}
    </div>
  );
}

function InUse({ agents: { present, overridden, crew } }: { agents: Agents }) {
  const test = useWrite("test_agent");
  return (
    <section aria-labelledby="in-use">
      <h2 id="in-use">In use</h2>
      {present ? (
        <p>
          Runner <code>{present.runner}</code>
          {present.command.length > 0 && (
            <>
              {" "}
              with{" "}
              <code>
                <Shown text={present.command.join(" ")} />
              </code>
            </>
          )}
          , model{" "}
          {present.model ? (
            <code>
              <Shown text={present.model} />
            </code>
          ) : (
            "as the program chooses"
          )}
          .
        </p>
      ) : (
        <p>No agent is set up. Topics can be discussed, but no agent answers them.</p>
      )}
      {overridden.length > 0 && (
        <p className="note">Your own configuration file sets {overridden.join(", ")} and overrides the workspace.</p>
      )}
      {crew && (
        <p className="note">
          Runs use the agents of <code>crew.agents</code> in scriptorium.yaml.
        </p>
      )}
      {present && (
        <>
          <div className="row-of-buttons">
            <Button size="xs" variant="default" loading={test.isPending} onClick={() => test.mutate({})}>
              Test agent
            </Button>
            <span className="muted">
              {test.isPending ? "Waiting for its answer, at most 90 seconds" : "One short call of its model"}
            </span>
          </div>
          <div role="status">{test.data && !test.isPending && <Outcome of={test.data} />}</div>
        </>
      )}
    </section>
  );
}

function Outcome({ of }: { of: Output<"test_agent"> }) {
  const facts = [
    `${(of.duration_ms / 1000).toFixed(1)} s`,
    ...(of.output_tokens === null ? [] : [`${of.output_tokens} output tokens`]),
    ...(of.cost_usd === null ? [] : [`$${of.cost_usd.toFixed(4)}`]),
  ];
  if (of.works)
    return (
      <div className="note good">
        <p>
          <strong>The agent works.</strong> {of.said && <Shown text={`It said: ${of.said}`} />}
        </p>
        <p className="facts">{facts.join(", ")}</p>
      </div>
    );
  return (
    <div className="note bad">
      <p>
        <strong>The agent does not work:</strong> <Shown text={of.error ?? ""} />
      </p>
      {of.fix && (
        <p>
          <Shown text={of.fix} />
        </p>
      )}
      {of.stderr && of.stderr !== of.error && (
        <details>
          <summary>What it wrote to stderr</summary>
          <pre>
            <Shown text={of.stderr} />
          </pre>
        </details>
      )}
    </div>
  );
}

function Choose({ agents, onLookAgain }: { agents: Agents; onLookAgain(): void }) {
  const installed = agents.programs.filter(({ path }) => path !== null);
  const usual = installed.find(({ login }) => login) ?? installed[0];
  const [chosen, setChosen] = useState(nameInUse(agents) ?? usual?.name);
  const [model, setModel] = useState(agents.present?.model ?? "");
  const preview = useWrite("configure_agent");
  const change = (set: () => void) => {
    set();
    preview.reset();
  };
  const input = { agent: chosen ?? "", ...(model.trim() ? { model: model.trim() } : {}) };
  return (
    <section aria-labelledby="choose">
      <h2 id="choose">On this machine</h2>
      <p className="muted">
        {agents.keys.length > 0
          ? `API keys in the environment: ${agents.keys.join(", ")}. Their values are not shown or stored.`
          : "The environment has no API key."}
      </p>
      <Radio.Group
        aria-label="Agent program"
        value={chosen ?? null}
        onChange={(value) => change(() => setChosen(value))}
        className="agent-choices"
      >
        {agents.programs.map((program) => (
          <Choice key={program.name} program={program} />
        ))}
      </Radio.Group>
      {installed.length === 0 && (
        <p className="note">
          No agent program was found in PATH. Install one, then{" "}
          <button type="button" className="link-button" onClick={onLookAgain}>
            look again
          </button>
          .
        </p>
      )}
      {installed.length > 0 && (
        <form
          className="agent-form"
          onSubmit={(event) => {
            event.preventDefault();
            preview.mutate(input);
          }}
        >
          <TextInput
            label="Model"
            description="Leave it empty for the program's own default."
            value={model}
            onChange={(event) => {
              const { value } = event.currentTarget;
              change(() => setModel(value));
            }}
          />
          <Button type="submit" variant="default" disabled={!chosen} loading={preview.isPending && !preview.data}>
            Show change
          </Button>
        </form>
      )}
      {preview.data && <Change change={preview.data} input={input} onDone={() => preview.reset()} />}
    </section>
  );
}

/** The choice that the configuration has now; a program of one's own is none of them. */
const nameInUse = ({ present, programs }: Agents) =>
  programs.find(({ name, runner }) =>
    runner === "acp" ? present?.command[0] === name : present !== null && present.runner === runner,
  )?.name;

function Choice({ program: { name, title, path, version, login, install, sign_in } }: { program: Program }) {
  const about = path ? (
    <>
      {version && `${version}, `}
      {login === false ? (
        <>
          not signed in: <code>{sign_in}</code>
        </>
      ) : login ? (
        "login or key found"
      ) : (
        "login unknown"
      )}
    </>
  ) : (
    <>
      not installed: <code>{install}</code>
    </>
  );
  return <Radio value={name} label={title} description={about} disabled={path === null} />;
}

type Planned = Output<"configure_agent">;

function Change({
  change,
  input,
  onDone,
}: {
  change: Planned;
  input: { agent: string; model?: string };
  onDone(): void;
}) {
  const write = useWrite("configure_agent", {
    onDone: () => {
      say("Agent set up. Test it now");
      onDone();
    },
    onRefused: (refusal) => {
      if (refusal.status === 409) onDone();
      return false;
    },
  });
  const action: Action = {
    id: "write-agent",
    label: "Write scriptorium.yaml",
    group: "Decision",
    keys: "mod+enter",
    within: ".decide",
    operation: "configure_agent",
    when: !write.isPending && change.diff !== "",
    run: () => write.mutate({ ...input, hash: change.hash }),
  };
  useActions([action]);
  if (change.diff === "") return <p className="note">scriptorium.yaml has this agent already.</p>;
  return (
    <section aria-label="Change of scriptorium.yaml">
      <h3>Change of scriptorium.yaml</h3>
      <SourceDiff before={change.before} after={change.after} />
      {change.waiting ? (
        <p className="note">
          Other settings of this file are not allowed on this machine, so agents stay off until you{" "}
          <Link to="/settings">review them</Link>.
        </p>
      ) : (
        change.allows.length > 0 && (
          <div className="note">
            <p>Writing it also allows on this machine:</p>
            <ul>
              {change.allows.map(({ key, value, why }) => (
                <li key={key}>
                  <code>
                    <Shown text={`${key}: ${value}`} />
                  </code>{" "}
                  {why && `(it ${why})`}
                </li>
              ))}
            </ul>
          </div>
        )
      )}
      <div className="decide">
        <p className="muted">It takes effect at once. The file stays uncommitted; commit it if others should use it.</p>
        <div className="row-of-buttons">
          <ActionButton action={action} />
        </div>
      </div>
    </section>
  );
}

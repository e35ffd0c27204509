import { Link } from "@tanstack/react-router";
import { mayCall, type Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Check } from "../parts/icons.tsx";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";

/** Settings of the repository that an admin allows after seeing what they do. */
export function Settings() {
  useTitle("Settings to allow");
  const isAdmin = mayCall("show_settings");
  const { data, error, refetch } = useOperation("show_settings", {}, { enabled: isAdmin });
  return (
    <div className="column">
      <div className="page-head">
        <h1>Settings to allow</h1>
        <p className="lead">
          These settings come with the repository. They run programs, send data or weaken a protection, so they take
          effect only when you allow them on this machine. Everything else works meanwhile.
        </p>
      </div>
      {!isAdmin && <p className="note">Only admins can see and allow settings.</p>}
      {error && <Failed error={error} again={() => void refetch()} />}
      {isAdmin && !data && !error && <Loading />}
      {data && data.waiting.length === 0 && (
        <Empty icon={<Check size={28} aria-hidden />} title="Nothing to allow">
          <p>
            A later change to such a setting appears here. <Link to="/settings/agents">Set up the agent</Link>
          </p>
        </Empty>
      )}
      {data && data.waiting.length > 0 && <Waiting trust={data} />}
    </div>
  );
}

type Trust = Output<"show_settings">;

function Waiting({ trust }: { trust: Trust }) {
  const allow = useWrite("allow_settings", { onDone: () => say("Settings allowed") });
  const action: Action = {
    id: "allow-settings",
    label: "Allow settings",
    group: "Decision",
    keys: "mod+enter",
    within: ".decide",
    operation: "allow_settings",
    when: !allow.isPending,
    run: () => allow.mutate({ hash: trust.hash }),
  };
  useActions([action]);
  return (
    <>
      {trust.waiting.map(({ name, changes }) => (
        <section key={name} aria-label={name}>
          <h2>
            <Shown text={name} />
          </h2>
          <ul className="entries settings">
            {changes.map((change) => (
              <Setting key={change.key} change={change} />
            ))}
          </ul>
        </section>
      ))}
      <div className="decide">
        <div className="row-of-buttons">
          <ActionButton action={action} />
        </div>
      </div>
    </>
  );
}

type Change = Trust["waiting"][number]["changes"][number];

function Setting({ change: { key, before, after, why } }: { change: Change }) {
  return (
    <li>
      <h3>
        <code>
          <Shown text={key} />
        </code>
      </h3>
      {why && <p className="summary">It {why}.</p>}
      {before !== null && (
        <p className="setting-value removed">
          <span className="sr-only">Allowed before: </span>
          <Shown text={before} />
        </p>
      )}
      {after !== null && (
        <p className="setting-value added">
          <span className="sr-only">Now: </span>
          <Shown text={after} />
        </p>
      )}
    </li>
  );
}

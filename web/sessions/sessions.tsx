import { Button } from "@mantine/core";
import { spellHidden } from "../../src/kernel/hidden.ts";
import { boot } from "../boot.ts";
import type { Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { signOut } from "../client/sign-out.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { browserName } from "./browser-name.ts";
import { Passkeys } from "./passkeys.tsx";

/** The browsers in which the person is signed in, and their passkeys; admins see everybody's. */
export function Sessions() {
  useTitle("Sessions");
  const found = useOperation("list_sessions", {});
  return (
    <div className="column wide">
      <div className="page-head">
        <h1>Sessions</h1>
        <p className="lead">
          Browsers in which <strong>{boot.person.name}</strong> is signed in, and passkeys. A session ends after 7 days
          without use, and after 30 days in any case.
        </p>
        <div className="row-of-buttons sign-out">
          <Button size="xs" variant="default" onClick={() => void signOut()}>
            Sign out
          </Button>
          <Button size="xs" variant="default" onClick={() => void signOut({ everywhere: true })}>
            Sign out everywhere
          </Button>
        </div>
      </div>
      <section aria-labelledby="browsers">
        <div className="section-head">
          <h2 id="browsers">Browsers</h2>
        </div>
        {found.error && <Failed error={found.error} again={() => void found.refetch()} />}
        {found.isPending && <Loading lines={3} />}
        {found.data && <SessionTable sessions={found.data.sessions} />}
      </section>
      <Passkeys />
    </div>
  );
}

type Session = Output<"list_sessions">["sessions"][number];

function SessionTable({ sessions }: { sessions: Session[] }) {
  const revoke = useWrite("revoke_session", { onDone: () => say("Session revoked") });
  const isOfOthers = sessions.some(({ person }) => person !== boot.person.name);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways on a narrow screen
    <div className="table-scroll" tabIndex={0}>
      <table className="list">
        <thead>
          <tr>
            <th scope="col">Browser</th>
            {isOfOthers && <th scope="col">Person</th>}
            <th scope="col" className="minor">
              Signed in
            </th>
            <th scope="col">Last seen</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {sessions.map(({ id, person, user_agent, created_at, seen_at, current }) => (
            <tr key={id}>
              <th scope="row" title={user_agent}>
                {browserName(user_agent)}
                {current && <span className="muted"> (this one)</span>}
              </th>
              {isOfOthers && (
                <td>
                  <Shown text={person} />
                </td>
              )}
              <td className="minor">
                <Time at={created_at} />
              </td>
              <td>
                <Time at={seen_at} />
              </td>
              <td>
                {!current && (
                  <Button
                    size="xs"
                    variant="default"
                    aria-label={spellHidden(`Revoke the session of ${person} in ${browserName(user_agent)}`)}
                    onClick={() => revoke.mutate({ id })}
                  >
                    Revoke
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

import { Button, SegmentedControl, useMantineColorScheme } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { boot } from "../boot.ts";
import { mayCall } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { signOut } from "../client/sign-out.ts";
import { type BrowserNotices, browserNotices, turnOff, turnOn } from "../notifications/browser-notices.ts";
import { Shown } from "../parts/shown.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { countOf, Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { ranksMay } from "../people/ranks.ts";

/** The signed-in person: name and rank, notifications, colours, sessions, passkeys, tokens. */
export function Profile() {
  useTitle("Profile");
  const { name, rank } = boot.person;
  return (
    <div className="column">
      <div className="page-head">
        <h1>Profile</h1>
        <p className="lead">
          You are signed in as{" "}
          <strong>
            <Shown text={name} />
          </strong>
          . The history shows this name, and others mention you as{" "}
          <code>
            @<Shown text={name} />
          </code>
          .
        </p>
      </div>
      <dl className="profile">
        <Row name="Rank">
          <p>
            <span className="mode">{rank}</span>
          </p>
          <p className="muted">{ranksMay[rank]}</p>
        </Row>
        <Row name="Browser notifications">
          <BrowserNotifications />
        </Row>
        <Row name="Colours">
          <Colours />
        </Row>
        <Row name="Sessions and passkeys">
          <SignedIn />
        </Row>
        {mayCall("list_tokens") && (
          <Row name="Tokens">
            <OwnTokens />
          </Row>
        )}
      </dl>
      <div className="row-of-buttons sign-out">
        <Button size="xs" variant="default" onClick={() => void signOut()}>
          Sign out
        </Button>
        <Button size="xs" variant="default" onClick={() => void signOut({ everywhere: true })}>
          Sign out everywhere
        </Button>
      </div>
    </div>
  );
}

const Row = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const noticeStates: Record<BrowserNotices, string> = {
  on: "On in this browser. While the tab is hidden, mentions, assignments and decisions are announced, without their text.",
  off: "Off. When on, mentions, assignments and decisions are announced while the tab is hidden, without their text.",
  blocked: "The browser blocks notifications of this address. Allow them in its settings, then reload this page.",
  impossible: "This browser shows no notifications for this address. Open the one that ends in .localhost.",
};

function BrowserNotifications() {
  const [state, setState] = useState(browserNotices);
  return (
    <>
      <p role="status">{noticeStates[state]}</p>
      {state === "off" && (
        <Button size="xs" variant="default" onClick={() => void turnOn().then(setState)}>
          Turn on
        </Button>
      )}
      {state === "on" && (
        <Button size="xs" variant="default" onClick={() => setState(turnOff())}>
          Turn off
        </Button>
      )}
    </>
  );
}

function Colours() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SegmentedControl
      size="xs"
      aria-label="Colours"
      value={colorScheme}
      onChange={(value) => setColorScheme(value as typeof colorScheme)}
      data={[
        { value: "light", label: "Light" },
        { value: "dark", label: "Dark" },
        { value: "auto", label: "As the system" },
      ]}
    />
  );
}

function SignedIn() {
  const sessions = useOperation("list_sessions", {});
  const passkeys = useOperation("list_passkeys", {});
  const failed = sessions.error ?? passkeys.error;
  if (failed) return <Failed error={failed} />;
  if (!sessions.data || !passkeys.data) return <Loading lines={1} />;
  const isOwn = ({ person }: { person: string }) => person === boot.person.name;
  const own = sessions.data.sessions.filter(isOwn).length;
  const keys = passkeys.data.passkeys.filter(isOwn).length;
  return (
    <p>
      Signed in with {countOf(own, "browser", "browsers")}, {countOf(keys, "passkey", "passkeys")}.{" "}
      <Link to="/sessions">Sessions and passkeys</Link>
    </p>
  );
}

function OwnTokens() {
  const { data, error, refetch } = useOperation("list_tokens", {});
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading lines={1} />;
  const own = data.tokens.filter(
    ({ kind, name, revoked_at }) => kind === "person" && name === boot.person.name && revoked_at === null,
  );
  return (
    <>
      {own.length === 0 && <p>You have no tokens.</p>}
      {own.length > 0 && (
        <ul>
          {own.map(({ id, rank, created_at, expires_at }) => (
            <li key={id}>
              {rank}, created <Time at={created_at} />
              {expires_at && (
                <>
                  , expires <Time at={expires_at} />
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      <p>
        <Link to="/people">Tokens of people and agents</Link>
      </p>
    </>
  );
}

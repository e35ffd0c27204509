import { Button, Code, CopyButton, Modal, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { boot } from "../boot.ts";
import { mayCall } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";

/** Who may come in, and as what. */
export function People() {
  useTitle("People");
  const isAdmin = mayCall("list_tokens");
  const tokens = useOperation("list_tokens", {}, { enabled: isAdmin });
  const [isAdding, setAdding] = useState(false);
  const add: Action = {
    id: "token-add",
    label: "New token",
    group: "Page",
    keys: "n",
    operation: "create_token",
    run: () => setAdding(true),
  };
  useActions([add]);
  const live = (tokens.data?.tokens ?? []).filter(({ revoked_at }) => revoked_at === null);
  return (
    <div className="column wide">
      <div className="page-head with-actions">
        <div>
          <h1>People and agents</h1>
          <p className="lead">
            You are <strong>{boot.person.name}</strong>, {article(boot.person.rank)}. {mayDo[boot.person.rank]}
          </p>
        </div>
        <ActionButton action={add} />
      </div>
      {!isAdmin && <p className="note">Tokens are an admin's to see and to make.</p>}
      {tokens.error && <Failed error={tokens.error} again={() => void tokens.refetch()} />}
      {isAdmin && tokens.isPending && <Loading />}
      {tokens.data && live.length === 0 && (
        <Empty title="No tokens yet">
          <p>A token lets a person sign in, or an agent work in one role. Yours came with the sign-in link.</p>
        </Empty>
      )}
      {live.length > 0 && <TokenTable tokens={live} />}
      {isAdding && <NewToken onClose={() => setAdding(false)} />}
    </div>
  );
}

const article = (rank: string) => (rank === "admin" ? "an admin" : `a ${rank}`);
const mayDo = {
  reader: "You may read everything; writing, discussing and deciding need a collaborator.",
  collaborator: "You may read, write, discuss and decide; tokens are an admin's.",
  admin: "You may do everything.",
};

type Token = { id: string; kind: string; name: string; role: string; created_at: string; expires_at: string | null };

function TokenTable({ tokens }: { tokens: Token[] }) {
  const revoke = useWrite("revoke_token", { onDone: () => say("The token no longer works") });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways on a narrow screen
    <div className="table-scroll" tabIndex={0}>
      <table className="list">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Kind</th>
            <th scope="col">Role</th>
            <th scope="col">Made</th>
            <th scope="col">Ends</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <tr key={token.id}>
              <th scope="row">
                <Shown text={token.name} />
              </th>
              <td>{token.kind}</td>
              <td>
                <Shown text={token.role} />
              </td>
              <td>
                <Time at={token.created_at} />
              </td>
              <td>{token.expires_at ? <Time at={token.expires_at} /> : "never"}</td>
              <td>
                <Button
                  size="xs"
                  variant="default"
                  aria-label={`Revoke the token of ${token.name}`}
                  onClick={() => revoke.mutate({ id: token.id })}
                >
                  Revoke
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NewToken({ onClose }: { onClose(): void }) {
  const schema = useOperation("show_schema", {});
  const [kind, setKind] = useState<"person" | "agent">("person");
  const [name, setName] = useState("");
  const [role, setRole] = useState("");
  const [days, setDays] = useState("");
  const create = useWrite("create_token");
  const roles = kind === "person" ? ["reader", "collaborator", "admin"] : (schema.data?.roles ?? []);
  const chosen = roles.includes(role) ? role : (roles[0] ?? "");
  const made = create.data;
  const link = made && made.kind === "person" ? `${location.origin}/?token=${made.token}` : undefined;
  return (
    <Modal
      opened
      onClose={onClose}
      title={made ? "The token" : "New token"}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {made ? (
        <div className="stack">
          <p>It is shown once. {link ? "This link signs them in:" : "The agent sends it as a bearer token:"}</p>
          <Code block className="secret">
            {link ?? made.token}
          </Code>
          <CopyButton value={link ?? made.token}>
            {({ copied, copy }) => <Button onClick={copy}>{copied ? "Copied" : "Copy"}</Button>}
          </CopyButton>
        </div>
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate({ kind, role: chosen, ...(name ? { name } : {}), ...(days ? { days: Number(days) } : {}) });
          }}
        >
          <NativeSelect
            label="For"
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value as typeof kind)}
            data={[
              { value: "person", label: "A person" },
              { value: "agent", label: "An agent" },
            ]}
          />
          <NativeSelect
            label={kind === "person" ? "Rank" : "Role"}
            value={chosen}
            onChange={(event) => setRole(event.currentTarget.value)}
            data={roles}
          />
          <TextInput
            label="Name"
            required={kind === "person"}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={100}
          />
          <TextInput
            label="Days until it ends"
            description="Leave empty for never"
            inputMode="numeric"
            pattern="[0-9]*"
            value={days}
            onChange={(event) => setDays(event.currentTarget.value)}
          />
          <Button type="submit" loading={create.isPending}>
            Make the token
          </Button>
        </form>
      )}
    </Modal>
  );
}

import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { spellHidden } from "../../src/kernel/hidden.ts";
import type { Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { Secret } from "./secret.tsx";
import { type Rank, ranks } from "./users.tsx";

/** The access tokens of agents and people. */
export function Tokens() {
  const tokens = useOperation("list_tokens", {});
  const [isAdding, setAdding] = useState(false);
  const add: Action = {
    id: "token-add",
    label: "New token",
    group: "Page",
    keys: "t n",
    operation: "create_token",
    run: () => setAdding(true),
  };
  useActions([add]);
  const live = (tokens.data?.tokens ?? []).filter(({ revoked_at }) => revoked_at === null);
  return (
    <section aria-labelledby="tokens">
      <div className="section-head">
        <h2 id="tokens">Tokens</h2>
        <ActionButton action={add} size="xs" variant="default" />
      </div>
      {tokens.error && <Failed error={tokens.error} again={() => void tokens.refetch()} />}
      {tokens.isPending && <Loading lines={3} />}
      {tokens.data && live.length === 0 && (
        <Empty title="No tokens yet">
          <p>A token authenticates a script of a person, or an agent with one role. Press New token to create one.</p>
        </Empty>
      )}
      {live.length > 0 && <TokenTable tokens={live} />}
      {isAdding && <NewToken onClose={() => setAdding(false)} />}
    </section>
  );
}

type Token = Output<"list_tokens">["tokens"][number];

function TokenTable({ tokens }: { tokens: Token[] }) {
  const revoke = useWrite("revoke_token", { onDone: () => say("Token revoked") });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways on a narrow screen
    <div className="table-scroll" tabIndex={0}>
      <table className="list">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className="minor">
              Kind
            </th>
            <th scope="col">Role or rank</th>
            <th scope="col" className="minor">
              Created
            </th>
            <th scope="col">Expires</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <tr key={token.id}>
              <th scope="row">
                <Shown text={token.name} />
              </th>
              <td className="minor">{token.kind}</td>
              <td>
                <Shown text={token.role ?? token.rank ?? ""} />
              </td>
              <td className="minor">
                <Time at={token.created_at} />
              </td>
              <td>{token.expires_at ? <Time at={token.expires_at} /> : "never"}</td>
              <td>
                <Button
                  size="xs"
                  variant="default"
                  aria-label={spellHidden(`Revoke the token of ${token.name}`)}
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
  const [rank, setRank] = useState<Rank>("reader");
  const [days, setDays] = useState("");
  const create = useWrite("create_token");
  const roles = schema.data?.roles ?? [];
  const chosen = kind === "person" ? { rank } : { role: roles.includes(role) ? role : (roles[0] ?? "") };
  const made = create.data;
  return (
    <Dialog onClose={onClose} title={made ? "The token" : "New token"}>
      {made ? (
        <Secret text={made.token} about="Shown only once. Send it as a bearer token." />
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate({ kind, ...chosen, ...(name ? { name } : {}), ...(days ? { days: Number(days) } : {}) });
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
          {kind === "person" ? (
            <NativeSelect
              label="Rank"
              value={rank}
              onChange={(event) => setRank(event.currentTarget.value as Rank)}
              data={ranks}
            />
          ) : (
            <NativeSelect
              label="Role"
              value={chosen.role ?? ""}
              onChange={(event) => setRole(event.currentTarget.value)}
              data={roles}
            />
          )}
          <TextInput
            label="Name"
            required={kind === "person"}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={100}
          />
          <TextInput
            label="Days until it expires"
            description="Leave empty for no expiry"
            inputMode="numeric"
            pattern="[0-9]*"
            value={days}
            onChange={(event) => setDays(event.currentTarget.value)}
          />
          <Button type="submit" loading={create.isPending}>
            Create token
          </Button>
        </form>
      )}
    </Dialog>
  );
}

import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { spellHidden } from "../../src/kernel/hidden.ts";
import { boot } from "../boot.ts";
import type { Output } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { linkWith, Secret } from "./secret.tsx";

type User = Output<"list_users">["users"][number];
export type Rank = User["rank"];

export const ranks: Rank[] = ["reader", "collaborator", "admin"];

/** The people who may sign in: let in, given another rank, kept out. */
export function Users() {
  const found = useOperation("list_users", {});
  const [isAdding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<User>();
  const link = useWrite("create_sign_in_link");
  const add: Action = {
    id: "user-add",
    label: "Add person",
    group: "Page",
    keys: "n u",
    operation: "add_user",
    run: () => setAdding(true),
  };
  useActions([add]);
  const users = found.data?.users ?? [];
  return (
    <section aria-labelledby="people">
      <div className="section-head">
        <h2 id="people">People</h2>
        <ActionButton action={add} size="xs" />
      </div>
      {found.error && <Failed error={found.error} again={() => void found.refetch()} />}
      {found.isPending && <Loading lines={3} />}
      {found.data && users.length === 0 && (
        <Empty title="No other people yet">
          <p>Press Add person and send them the sign-in link.</p>
        </Empty>
      )}
      {users.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways on a narrow screen
        <div className="table-scroll" tabIndex={0}>
          <table className="list">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col" className="minor">
                  Email
                </th>
                <th scope="col">Rank</th>
                <th scope="col" className="minor">
                  Added
                </th>
                <td />
              </tr>
            </thead>
            <tbody>
              {users.map((user) => (
                <Line
                  key={user.name}
                  user={user}
                  onLink={() => link.mutate({ name: user.name })}
                  onRemove={() => setLeaving(user)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isAdding && <NewUser onClose={() => setAdding(false)} />}
      {link.data && (
        <Dialog onClose={() => link.reset()} title={`Sign-in link for ${link.data.person}`}>
          <Secret text={linkWith(link.data.code)} about="It works once, within 7 days." />
        </Dialog>
      )}
      {leaving && <Removing user={leaving} onClose={() => setLeaving(undefined)} />}
    </section>
  );
}

function Line({ user, onLink, onRemove }: { user: User; onLink(): void; onRemove(): void }) {
  const change = useWrite("change_user", {
    onDone: ({ name, rank }) =>
      say(`${name} is now ${rank}`, rank === user.rank ? undefined : () => change.mutate({ name, rank: user.rank })),
  });
  // While it is on its way the new rank is shown; a refusal brings the old one back.
  const shown = change.isPending ? change.variables?.rank : user.rank;
  return (
    <tr>
      <th scope="row">
        <Shown text={user.name} />
        {user.name === boot.person.name && <span className="muted"> (you)</span>}
      </th>
      <td className="minor">{user.email && <Shown text={user.email} />}</td>
      <td>
        <NativeSelect
          size="xs"
          aria-label={spellHidden(`Rank of ${user.name}`)}
          data={ranks}
          value={shown ?? user.rank}
          onChange={(event) => change.mutate({ name: user.name, rank: event.currentTarget.value as Rank })}
        />
      </td>
      <td className="minor">
        <Time at={user.created_at} />
      </td>
      <td>
        <div className="row-of-buttons">
          <Button
            size="xs"
            variant="default"
            aria-label={spellHidden(`New sign-in link for ${user.name}`)}
            onClick={onLink}
          >
            New link
          </Button>
          <Button size="xs" variant="default" aria-label={spellHidden(`Remove ${user.name}`)} onClick={onRemove}>
            Remove
          </Button>
        </div>
      </td>
    </tr>
  );
}

function Removing({ user, onClose }: { user: User; onClose(): void }) {
  const remove = useWrite("remove_user", {
    onDone: ({ name }) => {
      onClose();
      say(`${name} can no longer sign in`);
    },
  });
  return (
    <Dialog onClose={onClose} title={`Remove ${user.name}`}>
      <div className="stack">
        <p>Revokes all their tokens, sessions and passkeys. Their contributions and decisions stay in the history.</p>
        <div className="row-of-buttons">
          <Button color="red" loading={remove.isPending} onClick={() => remove.mutate({ name: user.name })}>
            Remove
          </Button>
          <Button variant="default" data-autofocus onClick={onClose}>
            Keep
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

function NewUser({ onClose }: { onClose(): void }) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [rank, setRank] = useState<Rank>("collaborator");
  const add = useWrite("add_user");
  return (
    <Dialog onClose={onClose} title={add.data ? `${add.data.name} can sign in` : "Add person"}>
      {add.data ? (
        <Secret text={linkWith(add.data.code)} about="This link signs them in. It works once, within 7 days." />
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            add.mutate({ name: name.trim(), rank, ...(email.trim() ? { email: email.trim() } : {}) });
          }}
        >
          <TextInput
            label="Name"
            description="Shown in the history"
            required
            data-autofocus
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <TextInput
            label="Email"
            description="For the commits they approve; optional"
            type="email"
            maxLength={200}
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <NativeSelect
            label="Rank"
            data={ranks}
            value={rank}
            onChange={(event) => setRank(event.currentTarget.value as Rank)}
          />
          <Button type="submit" loading={add.isPending} disabled={!name.trim()}>
            Add
          </Button>
        </form>
      )}
    </Dialog>
  );
}

import { Button } from "@mantine/core";
import { useState } from "react";
import { boot } from "../boot.ts";
import { ask } from "../client/call.ts";
import { invalidate } from "../client/live.ts";
import { queries, useOperation, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { complain, say } from "../parts/toast.tsx";
import { browserName } from "./browser-name.ts";

const isPossible = "PublicKeyCredential" in window && location.hostname.endsWith(".localhost");

/** Passkeys sign a person in without a link. */
export function Passkeys() {
  const found = useOperation("list_passkeys", {});
  const remove = useWrite("remove_passkey", { onDone: () => say("Passkey removed") });
  const [isAdding, setAdding] = useState(false);
  const passkeys = found.data?.passkeys ?? [];
  const isOfOthers = passkeys.some(({ person }) => person !== boot.person.name);

  async function add(): Promise<void> {
    setAdding(true);
    try {
      await createPasskey();
      say("Passkey added");
    } catch (error) {
      const isCancelled = (error as Error).name === "NotAllowedError";
      complain(isCancelled ? new Error("no passkey was created") : error);
    } finally {
      setAdding(false);
    }
  }

  return (
    <section aria-labelledby="passkeys">
      <div className="section-head">
        <h2 id="passkeys">Passkeys</h2>
        {isPossible && (
          <Button size="xs" loading={isAdding} onClick={() => void add()}>
            Add passkey
          </Button>
        )}
      </div>
      {found.error && <Failed error={found.error} again={() => void found.refetch()} />}
      {found.isPending && <Loading lines={2} />}
      {found.data && passkeys.length === 0 && (
        <Empty title="No passkeys yet">
          <p>
            {isPossible
              ? "A passkey signs you in with a fingerprint, a face, a PIN or a security key. Press Add passkey to create one."
              : "To add a passkey, open the address ending in .localhost that scriptorium serve prints."}
          </p>
        </Empty>
      )}
      {passkeys.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways on a narrow screen
        <div className="table-scroll" tabIndex={0}>
          <table className="list">
            <thead>
              <tr>
                <th scope="col">Name</th>
                {isOfOthers && <th scope="col">Person</th>}
                <th scope="col" className="minor">
                  Added
                </th>
                <th scope="col">Last used</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {passkeys.map(({ id, name, person, created_at, used_at }) => (
                <tr key={id}>
                  <th scope="row">
                    <Shown text={name} />
                  </th>
                  {isOfOthers && (
                    <td>
                      <Shown text={person} />
                    </td>
                  )}
                  <td className="minor">
                    <Time at={created_at} />
                  </td>
                  <td>{used_at ? <Time at={used_at} /> : "never"}</td>
                  <td>
                    <Button
                      size="xs"
                      variant="default"
                      aria-label={`Remove the passkey ${name} of ${person}`}
                      onClick={() => remove.mutate({ id })}
                    >
                      Remove
                    </Button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

async function createPasskey(): Promise<void> {
  const { startRegistration } = await import("@simplewebauthn/browser");
  const options = await ask("/api/passkeys/options", "post", {});
  const optionsJSON = options as Parameters<typeof startRegistration>[0]["optionsJSON"];
  const response = await startRegistration({ optionsJSON });
  await ask("/api/passkeys", "post", { response, name: browserName(navigator.userAgent) });
  await invalidate(queries, ["passkey"]);
}

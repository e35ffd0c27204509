import { Button, Checkbox } from "@mantine/core";
import { useEffect, useState } from "react";
import type { Output } from "../client/call.ts";
import { useWrite } from "../client/query.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { Loading } from "../parts/state.tsx";

type Props = { run: string; onClose(): void };

/** Shows where the accepted work would be pushed, and opens the pull request once the person confirms. */
export function PullRequestDialog({ run, onClose }: Props) {
  const [preview, setPreview] = useState<Output<"open_pull_request">>();
  const [opened, setOpened] = useState<Output<"open_pull_request">>();
  const [trouble, setTrouble] = useState<string>();
  const [draft, setDraft] = useState(false);
  const onRefused = ({ message }: { message: string }) => {
    setTrouble(message);
    return true;
  };
  const ask = useWrite("open_pull_request", { onDone: setPreview, onRefused });
  const open = useWrite("open_pull_request", { onDone: setOpened, onRefused });
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked once, when the dialog opens
  useEffect(() => ask.mutate({ id: run }), []);
  return (
    <Dialog onClose={onClose} title="Open pull request">
      <div className="stack">
        {!preview && !trouble && <Loading />}
        {preview && !opened && (
          <>
            <p>
              The branch{" "}
              <code>
                <Shown text={preview.branch} />
              </code>{" "}
              is pushed to <Shown text={preview.remote} /> (<Shown text={preview.url} />
              ).
            </p>
            {preview.program === null ? (
              <p className="note" role="status">
                Neither gh nor glab can open a pull request for this remote. Only the branch is pushed; open the pull
                request on the website of the remote.
              </p>
            ) : (
              <Checkbox
                label={`Open it as a draft with ${preview.program}`}
                checked={draft}
                onChange={(event) => setDraft(event.currentTarget.checked)}
              />
            )}
            {preview.replaces !== null && (
              <div className="note bad" role="status">
                <p>
                  The push replaces <code>{preview.replaces.commit.slice(0, 12)}</code> on{" "}
                  <Shown text={preview.remote} />, which the accepted work no longer contains:
                </p>
                <ul>
                  {preview.replaces.commits.map((subject) => (
                    <li key={subject}>
                      <Shown text={subject} />
                    </li>
                  ))}
                </ul>
              </div>
            )}
            <Button
              color={preview.replaces === null ? undefined : "red"}
              loading={open.isPending}
              onClick={() => {
                setTrouble(undefined);
                open.mutate({ id: run, draft, replace: preview.replaces?.commit, confirm: true });
              }}
            >
              {preview.replaces !== null
                ? "Replace branch"
                : preview.program === null
                  ? "Push branch"
                  : "Open pull request"}
            </Button>
          </>
        )}
        {opened && (
          <p className="note" role="status">
            {opened.pull_request === null ? (
              <Shown text={opened.message} />
            ) : (
              <>
                Opened{" "}
                <a href={opened.pull_request} rel="noreferrer" target="_blank">
                  <Shown text={opened.pull_request} />
                </a>
              </>
            )}
          </p>
        )}
        {trouble && (
          <p className="note bad plain" role="alert">
            <Shown text={trouble} />
          </p>
        )}
      </div>
    </Dialog>
  );
}

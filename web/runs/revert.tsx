import { Radio, Stack } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Output } from "../client/call.ts";
import { PreviewDialog } from "../parts/preview-dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { countOf } from "../parts/time.tsx";

type Change = Output<"revert_run">;

type How = "commit" | "branch" | "keep";

/** Shows everything that a run left behind and what depends on it, and reverts it once the person typed the word. */
export function RevertDialog({ run, onClose }: { run: string; onClose(): void }) {
  const [files, setFiles] = useState<How>("commit");
  return (
    <PreviewDialog
      operation="revert_run"
      input={{ run, files }}
      confirm={() => ({ run, files, confirm: true })}
      title="Revert run"
      doneTitle="Run reverted"
      button="Revert run"
      word="revert"
      isEmpty={(change) => countAll(change) === 0}
      fields={<FileChoice value={files} onChange={setFiles} />}
      onClose={onClose}
    >
      {(change, isDone) => (
        <>
          {isDone ? (
            <p className="note" role="status">
              {countAll(change) === 0 ? "Nothing was reverted." : "What the run wrote is reverted."}
            </p>
          ) : (
            <p>
              {countAll(change) === 0
                ? "Nothing is left of this run that can be reverted."
                : "Entries get new versions and branches get revert commits; no version and no commit is lost. Uncommitted files stay as they are."}
            </p>
          )}
          <Changes change={change} />
        </>
      )}
    </PreviewDialog>
  );
}

function FileChoice({ value, onChange }: { value: How; onChange(how: How): void }) {
  return (
    <Radio.Group label="Accepted files on your branches" value={value} onChange={(how) => onChange(how as How)}>
      <Stack gap="xs" mt="xs">
        <Radio value="commit" label="Revert with a commit" />
        <Radio value="branch" label="Put the revert on a branch to merge" />
        <Radio value="keep" label="Keep" />
      </Stack>
    </Radio.Group>
  );
}

const countAll = ({ entries, removed, restored, handoffs, tasks, branches }: Change) =>
  entries.length + removed.length + restored.length + handoffs + tasks.length + branches.length;

function Changes({ change }: { change: Change }) {
  const { entries, removed, restored, handoffs, tasks, branches, depends, needs_person: open } = change;
  if (countAll(change) + open.length + depends.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys must be able to do that
    <section className="effects" aria-label="What changes" tabIndex={0}>
      {tasks.length > 0 && (
        <>
          <h2>Overturned tasks</h2>
          <ul>
            {tasks.map(({ id, number, title }) => (
              <li key={id}>
                <Link to={`/tasks/${id}`}>
                  {number} <Shown text={title} />
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
      {branches.map((branch) => (
        <Branch key={branch.branch} {...branch} />
      ))}
      {entries.length > 0 && (
        <>
          <h2>Entries</h2>
          <ul>
            {entries.map(({ id, versions, to, version }) => (
              <li key={id}>
                <Link to={`/entries/${id}`} search={{ view: "history" } as never}>
                  <Shown text={id} />
                </Link>
                : {versions.length === 1 ? "version" : "versions"} {versions.join(", ")}; <Shown text={to} />
                {version !== undefined && ` as version ${version}`}
              </li>
            ))}
          </ul>
        </>
      )}
      <Things title="Removed from the graph" ids={removed} />
      <Things title="Restored in the graph" ids={restored} isLinked />
      {handoffs > 0 && <p>{countOf(handoffs, "handoff is", "handoffs are")} withdrawn.</p>}
      <Open title="Depends on it" things={depends} />
      <Open title="Others built on these; they stay" things={open} />
    </section>
  );
}

function Branch({ branch, files, commit, revert_branch: own, folder }: Change["branches"][number]) {
  return (
    <>
      <h2>
        Files on <Shown text={branch} />
      </h2>
      {own !== null && (
        <p>
          {commit === null ? "The revert goes to the branch" : "Merge the branch"}{" "}
          <code>
            <Shown text={own} />
          </code>
          .
        </p>
      )}
      {commit !== null && own === null && (
        <p>
          Commit <code>{commit.slice(0, 10)}</code>
          {folder !== null && (
            <>
              ; the files in{" "}
              <code>
                <Shown text={folder} />
              </code>{" "}
              are updated
            </>
          )}
          .
        </p>
      )}
      <ul>
        {files.map(({ path, status }) => (
          <li key={path}>
            <code>
              <Shown text={path} />
            </code>{" "}
            <span className="muted">{status}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Open({ title, things }: { title: string; things: Change["depends"] }) {
  if (things.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {things.map(({ what, why }) => (
          <li key={`${what} ${why}`}>
            <ThingLink id={what} />: <Shown text={why} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Things({ title, ids, isLinked = false }: { title: string; ids: string[]; isLinked?: boolean }) {
  if (ids.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {ids.map((id) => (
          <li key={id}>{isLinked ? <ThingLink id={id} /> : <Shown text={spelt(id)} />}</li>
        ))}
      </ul>
    </>
  );
}

/** A node leads to the graph, an entry to its history, a task or run to its page; an edge, branch or commit has none. */
function ThingLink({ id }: { id: string }) {
  if (id.startsWith("entry:"))
    return (
      <Link to={`/entries/${id.slice("entry:".length)}`} search={{ view: "history" } as never}>
        <Shown text={id.slice("entry:".length)} />
      </Link>
    );
  const [noun = "", rest = ""] = splitOnce(id);
  if (noun === "task" || noun === "run")
    return (
      <Link to={`/${noun}s/${rest}`}>
        <Shown text={spelt(id)} />
      </Link>
    );
  if (!id.startsWith("node:")) return <Shown text={spelt(id)} />;
  return (
    <Link to="/graph" search={{ node: id.slice("node:".length) } as never}>
      <Shown text={spelt(id)} />
    </Link>
  );
}

const splitOnce = (id: string) => [id.slice(0, id.indexOf(":")), id.slice(id.indexOf(":") + 1)];

/** "node:service:billing" is the node service:billing; of a commit the first ten characters are enough. */
const spelt = (id: string) =>
  id.replace(/^(node|edge|task|run|branch):/, "$1 ").replace(/^commit:(.{10}).*/, "commit $1");

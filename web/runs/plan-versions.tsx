import { Button, NativeSelect } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { mayCall } from "../client/call.ts";
import { useOperation, useWrite } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { SourceDiff } from "../parts/source-diff.tsx";
import { Failed, Loading } from "../parts/state.tsx";
import { countOf, Time } from "../parts/time.tsx";
import { say } from "../parts/toast.tsx";

type Props = { run: string; chosen: number | undefined; against: number | undefined; editable: boolean };

const search = (version: number | undefined, against?: number) =>
  ({ tab: "plan", versions: version ?? true, ...(against === undefined ? {} : { against }) }) as never;

/** Every save of a plan, and what it changed. */
export function PlanVersions({ run, chosen, against, editable }: Props) {
  const list = useOperation("list_plan_versions", { id: run });
  if (list.error) return <Failed error={list.error} again={() => void list.refetch()} />;
  if (!list.data) return <Loading lines={8} />;
  const { versions } = list.data;
  const version = chosen ?? versions[0]?.version ?? 1;
  return (
    <div className="plan-versions">
      <nav aria-label="Versions of the plan">
        <ol>
          {versions.map((one) => (
            <li key={one.version}>
              <Link
                to="."
                search={search(one.version)}
                aria-current={one.version === version ? "true" : undefined}
                activeProps={{}}
              >
                <strong>Version {one.version}</strong> {one.current && <span className="muted">current</span>}
                <span className="muted small">
                  <Shown text={one.by} />, <Time at={one.at} />, {countOf(one.tasks, "task", "tasks")}
                </span>
              </Link>
            </li>
          ))}
        </ol>
      </nav>
      <Version
        key={version}
        run={run}
        version={version}
        against={against}
        all={versions.map((one) => one.version)}
        editable={editable}
      />
    </div>
  );
}

type VersionProps = { run: string; version: number; against: number | undefined; all: number[]; editable: boolean };

function Version({ run, version, against, all, editable }: VersionProps) {
  const navigate = useNavigate();
  const [trouble, setTrouble] = useState<string>();
  const shown = useOperation("show_plan_version", {
    ...{ id: run, version },
    ...(against === undefined ? {} : { against }),
  });
  const restore = useWrite("restore_plan_version", {
    onDone: ({ version: made }) => {
      say(`Version ${version} restored as version ${made}`);
      void navigate({ to: ".", search: search(made) });
    },
    onRefused: ({ message }) => {
      setTrouble(message);
      return true;
    },
  });
  if (shown.error) return <Failed error={shown.error} again={() => void shown.refetch()} />;
  if (!shown.data) return <Loading lines={8} />;
  const { content, before, against: other, current } = shown.data;
  const others = all.filter((one) => one !== version);
  return (
    <section aria-label={`Version ${version} of the plan`}>
      <div className="plan-version-tools">
        {others.length > 0 && (
          <NativeSelect
            size="xs"
            label="Changes since"
            data={[
              ...(other === null ? [{ value: "", label: "nothing (whole plan)" }] : []),
              ...others.map((one) => ({ value: String(one), label: `Version ${one}` })),
            ]}
            value={other === null ? "" : String(other)}
            onChange={(event) =>
              void navigate({ to: ".", search: search(version, Number(event.currentTarget.value) || undefined) })
            }
          />
        )}
        {editable && !current && mayCall("restore_plan_version") && (
          <Button
            size="xs"
            variant="default"
            loading={restore.isPending}
            onClick={() => {
              setTrouble(undefined);
              restore.mutate({ id: run, version });
            }}
          >
            Restore version {version}
          </Button>
        )}
      </div>
      {trouble && (
        <p className="note bad plain" role="alert">
          <Shown text={trouble} />
        </p>
      )}
      {before === null ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys must be able to do that
        <pre className="plan-text" tabIndex={0}>
          {content}
        </pre>
      ) : (
        <SourceDiff before={before} after={content} />
      )}
    </section>
  );
}

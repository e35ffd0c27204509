import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { mayCall } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { bytes, countOf, Time } from "../parts/time.tsx";
import { useTitle } from "../parts/title.ts";
import { Upload } from "./upload.tsx";

/** Raw material that never changes. */
export function Sources() {
  useTitle("Sources");
  const list = useOperation("list_sources", {});
  const check = useOperation("verify_sources", {}, { enabled: false });
  const sources = list.data?.sources ?? [];
  const total = sources.reduce((sum, source) => sum + source.size, 0);
  return (
    <div className="column wide">
      <div className="page-head with-actions">
        <div>
          <h1>Sources</h1>
          <p className="lead">
            Raw material that never changes.{" "}
            {list.data && `${countOf(sources.length, "file", "files")}, ${bytes(total)}.`}
          </p>
        </div>
        <Button variant="default" loading={check.isFetching} onClick={() => void check.refetch()}>
          Verify
        </Button>
      </div>
      {list.data && mayCall("add_source") && <Upload known={sources} />}
      {list.error && <Failed error={list.error} again={() => void list.refetch()} />}
      {list.isPending && <Loading />}
      {check.data && <Verdict {...check.data} />}
      {list.data && sources.length === 0 && (
        <Empty title="No sources yet">
          <p>
            {mayCall("add_source") ? "Drop a file above, or add one" : "Add one"} with{" "}
            <code>scriptorium source add FILE</code>. Sources are immutable.
          </p>
        </Empty>
      )}
      {sources.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways on a narrow screen
        <div className="table-scroll" tabIndex={0}>
          <table className="list sources">
            <thead>
              <tr>
                <th scope="col">File</th>
                <th scope="col">Size</th>
                <th scope="col" className="minor">
                  SHA-256
                </th>
                <th scope="col">Added</th>
              </tr>
            </thead>
            <tbody>
              {sources.map((source) => (
                <tr key={source.path}>
                  <th scope="row">
                    <Link to={`/source/${source.path}`}>
                      <Shown text={source.path} />
                    </Link>
                  </th>
                  <td className="number">{bytes(source.size)}</td>
                  <td className="minor">
                    <code className="hash" title={source.sha256}>
                      {source.sha256.slice(0, 12)}
                    </code>
                  </td>
                  <td>
                    <Shown text={source.added_by} />, <Time at={source.at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

type Checked = { intact: number; changed: { path: string }[]; missing: { path: string }[]; unknown: string[] };

function Verdict({ intact, changed, missing, unknown }: Checked) {
  const wrong = [
    ...changed.map(({ path }) => `${path} was changed`),
    ...missing.map(({ path }) => `${path} was deleted`),
    ...unknown.map((path) => `${path} is in the folder but was not added`),
  ];
  if (wrong.length === 0) {
    return (
      <p className="note good" role="status">
        {countOf(intact, "source is", "sources are")} unchanged.
      </p>
    );
  }
  return (
    <ul className="note bad" role="alert">
      {wrong.map((line) => (
        <li key={line}>
          <Shown text={line} />
        </li>
      ))}
    </ul>
  );
}

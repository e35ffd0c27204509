import type { Output } from "../client/call.ts";
import { Shown } from "./shown.tsx";
import { bytes } from "./time.tsx";

/** Where an agent connected to, or tried to. Null if that is not known. */
export function Destinations({ of }: { of: Output<"show_job">["destinations"] }) {
  if (!of || of.length === 0) return null;
  const refused = of.filter((one) => !one.allowed).length;
  return (
    <details className="calls">
      <summary>
        {of.length} network {of.length === 1 ? "destination" : "destinations"}
        {refused > 0 && `, ${refused} refused`}
      </summary>
      <ul>
        {of.map((one) => (
          <li key={`${one.destination} ${one.allowed} ${one.reason}`}>
            <code>
              <Shown text={one.destination} />
            </code>{" "}
            <span className="muted">
              {one.requests} {one.requests === 1 ? "request" : "requests"}, {bytes(one.bytes_sent)} sent,{" "}
              {bytes(one.bytes_received)} received
            </span>
            {!one.allowed && <span className="state tone-bad">refused</span>}
            {one.reason && (
              <span className="muted">
                {" "}
                <Shown text={one.reason} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

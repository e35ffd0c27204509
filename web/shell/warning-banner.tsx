import { useOperation } from "../client/query.ts";
import { useWarning } from "../client/warning.ts";
import { Shown } from "../parts/shown.tsx";

const recheckMs = 5000;

/** The server's warning about the workspace on every page, until an answer comes without it. */
export function WarningBanner() {
  const warning = useWarning();
  // A corrected file causes no event if nothing in it has changed since it was last valid.
  useOperation("show_schema", {}, { enabled: warning !== undefined, everyMs: recheckMs });
  return (
    warning && (
      <p className="offline" role="status">
        <Shown text={warning} />
      </p>
    )
  );
}

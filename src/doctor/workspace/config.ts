import type { CrewApp } from "../../crew/record/crew-app.ts";
import { type Finding, findingsOf } from "../finding.ts";

/** The part of scriptorium.yaml that this process does not use because it was changed since the start. */
export function checkConfig({ config }: CrewApp): Finding[] {
  const { warning } = findingsOf("serve", "configuration");
  const { restart, invalid } = config.unused();
  return [
    ...(invalid
      ? [warning(`the server uses the last valid scriptorium.yaml; the present one is invalid: ${invalid}`)]
      : []),
    ...(restart.length > 0
      ? [warning(`restart needed: ${restart.join(", ")} changed in scriptorium.yaml`, "restart scriptorium serve")]
      : []),
  ];
}

import type { CrewApp } from "../../crew/record/crew-app.ts";
import type { Finding } from "../finding.ts";

/** What was repaired: the subject, and how it was before and after. */
export type Repaired = { subject: string; before: string; after: string };

/** Repairs findings of some kinds; `open` are those that nobody has acknowledged. Running it again changes nothing. */
export type Repair = { kinds: string[]; run(app: CrewApp, open: Finding[]): Promise<Repaired[]> };

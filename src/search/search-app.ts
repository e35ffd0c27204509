import type { Result } from "../kernel/result.ts";
import type { TrustApp } from "../trust/trust-app.ts";
import type { Search } from "./open.ts";

export interface SearchApp extends TrustApp {
  search: Search;
  /** The wiki's schema, as far as search needs it. */
  schema(): Promise<Result<{ sections: { id: string }[] }>>;
}

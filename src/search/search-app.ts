import type { CoreApp } from "../config/core-app.ts";
import type { Result } from "../kernel/result.ts";
import type { Search } from "./open.ts";

export interface SearchApp extends CoreApp {
  search: Search;
  /** The wiki's schema, as far as search needs it. */
  schema(): Promise<Result<{ sections: { id: string }[] }>>;
}

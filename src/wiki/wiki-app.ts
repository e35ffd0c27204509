import type { Caller } from "../kernel/caller.ts";
import type { Result } from "../kernel/result.ts";
import type { Search } from "../search/open.ts";
import type { Recorder } from "../store/git/recorder.ts";
import type { Publications } from "../store/publications.ts";
import type { TrustApp } from "../trust/trust-app.ts";
import type { EntryStore } from "./entry.ts";
import type { KnowledgeStore } from "./knowledge.ts";
import type { PageReader } from "./pages/pages.ts";
import type { LinkKeeper } from "./pages/relink.ts";
import type { SchemaPlace } from "./schema/record.ts";
import type { Schema } from "./schema.ts";
import type { SourceStore } from "./sources/sources.ts";
import type { FileStore } from "./stores/files.ts";
import type { Mirror } from "./stores/mirror.ts";

export interface WikiApp extends TrustApp {
  /** The schema in force: the last valid one while schema.yaml is not valid. */
  schema(): Promise<Result<Schema>>;
  /** Why schema.yaml is not in force, as of the last call of `schema`. */
  schemaWarning(): string | undefined;
  schemaPlace: SchemaPlace;
  entries: EntryStore;
  /** Set when entries are files. */
  files: FileStore | undefined;
  /** Set when entries are database rows. */
  mirror: Mirror | undefined;
  /** The wiki with this caller's permissions. */
  knowledge(caller: Caller): KnowledgeStore;
  /** Every markdown page, including entries. */
  pages: PageReader;
  links: LinkKeeper;
  sources: SourceStore;
  search: Search;
  publications: Publications;
  recorder: Recorder;
  rebuild(): Promise<number>;
}

import type { WikiApp } from "../wiki/wiki-app.ts";
import type { TokenStore } from "./tokens.ts";
import type { UserStore } from "./users.ts";

export interface PeopleApp extends WikiApp {
  tokens: TokenStore;
  users: UserStore;
}

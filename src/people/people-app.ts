import type { WikiApp } from "../wiki/wiki-app.ts";
import type { IdentityStore } from "./identities.ts";
import type { PasskeyStore } from "./passkeys.ts";
import type { SessionStore } from "./sessions.ts";
import type { ChallengeStore } from "./sign-in-challenges.ts";
import type { CodeStore } from "./sign-in-codes.ts";
import type { TokenStore } from "./tokens.ts";
import type { UserStore } from "./users.ts";

export interface PeopleApp extends WikiApp {
  tokens: TokenStore;
  users: UserStore;
  sessions: SessionStore;
  codes: CodeStore;
  passkeys: PasskeyStore;
  identities: IdentityStore;
  challenges: ChallengeStore;
}

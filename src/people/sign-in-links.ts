import { browserAddress, linkAt, originOf, recordedPort } from "./browser-address.ts";
import type { PeopleApp } from "./people-app.ts";
import type { NewCode } from "./sign-in-codes.ts";

/** For a link that the owner opens at once, and for one that is sent to somebody. */
export const linkMinutes = { own: 15, sent: 7 * 24 * 60 };

/** A code and its link: for the server that runs now, else for the configured port. */
export async function newLink(app: PeopleApp, code: NewCode) {
  const made = await app.codes.create(code);
  const port = recordedPort(app.config.stateFolder) ?? app.config.port;
  const origin = originOf(app.config.baseUrl, await browserAddress(app.db), port);
  return { ...made, link: linkAt(origin, made.code) };
}

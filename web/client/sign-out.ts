import { complain } from "../parts/toast.tsx";
import { ask, call, Refusal } from "./call.ts";
import { forgetPageSecret } from "./page-secret.ts";

/** Ends this session, or every session of the person, and shows the sign-in page. */
export async function signOut({ everywhere = false } = {}): Promise<void> {
  let next = "/sign-in";
  try {
    if (everywhere) await call("revoke_sessions", {});
    const answer = (await ask("/sign-out", "post", {})) as { continue?: string };
    // The identity provider ends its own session.
    next = answer.continue ?? next;
  } catch (error) {
    // A session that has ended is signed out already.
    if (!(error instanceof Refusal && error.status === 401)) return complain(error);
  }
  forgetPageSecret();
  location.replace(next);
}

import { createHash } from "node:crypto";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Context } from "hono";
import type { App } from "../app.ts";
import type { Grant } from "../people/grants.ts";
import type { Credential, Passkey } from "../people/passkeys.ts";

const challengeMs = 5 * 60_000;
const maxChallenges = 1000;

/**
 * The two ceremonies of WebAuthn. The relying party is the workspace's own host name, so a passkey works in no other
 * workspace and on no other local server. Browsers do not offer passkeys for 127.0.0.1.
 */
export function passkeyCeremonies(app: App, host: string) {
  const challenges = openChallenges();
  // Loaded with the first ceremony: it brings parsers for certificates of authenticators.
  const library = () => import("@simplewebauthn/server");
  const originOf = (c: Context) => `http://${c.req.header("host")?.toLowerCase()}`;

  return {
    /** True if the browser reached the server under the host name that passkeys are bound to. */
    isPossible: (c: Context): boolean => c.req.header("host")?.toLowerCase().split(":", 1)[0] === host,

    async registrationOptions(grant: Grant) {
      const { generateRegistrationOptions } = await library();
      const known = await app.passkeys.credentialsOf(grant.person);
      const options = await generateRegistrationOptions({
        rpName: app.config.name,
        rpID: host,
        userName: grant.person,
        userID: userIdOf(grant),
        excludeCredentials: known.map(({ id, transports }) => ({ id, transports })),
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
      });
      challenges.add(options.challenge);
      return options;
    },

    /** Undefined if the response does not answer a challenge of this server. */
    async register(c: Context, grant: Grant, response: unknown, name: string): Promise<Passkey | undefined> {
      const { verifyRegistrationResponse } = await library();
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        response: response as RegistrationResponseJSON,
        expectedChallenge: (challenge) => challenges.take(challenge),
        expectedOrigin: originOf(c),
        expectedRPID: host,
      }).catch(unverified);
      if (!verified || !registrationInfo) return undefined;
      const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
      const credential: Credential = {
        id,
        publicKey: Buffer.from(publicKey).toString("base64url"),
        counter,
        transports,
      };
      return app.passkeys.add(grant, credential, name);
    },

    async authenticationOptions() {
      const { generateAuthenticationOptions } = await library();
      const options = await generateAuthenticationOptions({ rpID: host, userVerification: "required" });
      challenges.add(options.challenge);
      return options;
    },

    /** The person of the passkey; undefined if it is unknown or the signature does not answer a challenge of ours. */
    async authenticate(c: Context, response: unknown): Promise<Grant | undefined> {
      const given = response as AuthenticationResponseJSON;
      const found = await app.passkeys.find(String(given?.id));
      if (!found) return undefined;
      const { verifyAuthenticationResponse } = await library();
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: given,
        expectedChallenge: (challenge) => challenges.take(challenge),
        expectedOrigin: originOf(c),
        expectedRPID: host,
        credential: {
          ...found.credential,
          publicKey: new Uint8Array(Buffer.from(found.credential.publicKey, "base64url")),
        },
      }).catch(unverified);
      if (!verified || !authenticationInfo) return undefined;
      const isCounted = await app.passkeys.countUse(found.id, found.credential.counter, authenticationInfo.newCounter);
      return isCounted ? found.grant : undefined;
    },
  };
}

export type PasskeyCeremonies = ReturnType<typeof passkeyCeremonies>;

/** The library throws when a check fails, and also when the response is malformed. */
const unverified = () => ({ verified: false, registrationInfo: undefined, authenticationInfo: undefined }) as const;

/** The same for every passkey of a person, so that an authenticator shows one entry for them. */
const userIdOf = ({ person, isOwner }: Grant) =>
  new Uint8Array(
    createHash("sha256")
      .update(`${isOwner ? "owner" : "user"}:${person}`)
      .digest(),
  );

/** Each challenge is answered at most once, and soon. */
function openChallenges() {
  const open = new Map<string, number>();
  return {
    add(challenge: string): void {
      open.set(challenge, Date.now() + challengeMs);
      if (open.size > maxChallenges) open.delete(open.keys().next().value as string);
    },
    take(challenge: string): boolean {
      const until = open.get(challenge);
      return open.delete(challenge) && until !== undefined && until > Date.now();
    },
  };
}

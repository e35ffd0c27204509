import { createHash } from "node:crypto";
import { isIP } from "node:net";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import type { Context } from "hono";
import type { App } from "../app.ts";
import type { Grant } from "../people/grants.ts";
import type { Credential, Passkey } from "../people/passkeys.ts";
import { newSecret } from "../people/secrets.ts";
import { arrivalOf, type Reach } from "./arrival.ts";

const challengeMinutes = 5;

/**
 * The two ceremonies of WebAuthn. The relying party is the workspace's own host name, so a passkey works in no other
 * workspace and on no other local server; or the host of the public https address. Browsers do not offer passkeys for
 * 127.0.0.1 and other addresses without a name.
 */
export function passkeyCeremonies(app: App, { localName, baseUrl }: Pick<Reach, "localName" | "baseUrl">) {
  const challenge = async () => {
    const secret = newSecret();
    await app.challenges.add(secret, {}, challengeMinutes);
    return secret;
  };
  // Loaded with the first ceremony: it brings parsers for certificates of authenticators.
  const library = () => import("@simplewebauthn/server");
  const hostOf = (c: Context) => new URL(arrivalOf(c).origin).hostname;
  const isAnswered = async (answer: string) => (await app.challenges.take(answer)) !== undefined;

  return {
    /** True if the browser reached the server under the host name that passkeys are bound to. */
    isPossible(c: Context): boolean {
      const { origin, isTls } = arrivalOf(c);
      return hostOf(c) === localName || (isTls && origin === baseUrl && isIP(hostOf(c).replace(/^\[|\]$/g, "")) === 0);
    },

    async registrationOptions(c: Context, grant: Grant) {
      const { generateRegistrationOptions } = await library();
      const known = await app.passkeys.credentialsOf(grant.person);
      return generateRegistrationOptions({
        rpName: app.config.name,
        rpID: hostOf(c),
        challenge: Uint8Array.from(Buffer.from(await challenge(), "base64url")),
        userName: grant.person,
        userID: userIdOf(grant),
        excludeCredentials: known.map(({ id, transports }) => ({ id, transports })),
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
      });
    },

    /** Undefined if the response does not answer a challenge of this server. */
    async register(c: Context, grant: Grant, response: unknown, name: string): Promise<Passkey | undefined> {
      const { verifyRegistrationResponse } = await library();
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        response: response as RegistrationResponseJSON,
        expectedChallenge: isAnswered,
        expectedOrigin: arrivalOf(c).origin,
        expectedRPID: hostOf(c),
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

    async authenticationOptions(c: Context) {
      const { generateAuthenticationOptions } = await library();
      return generateAuthenticationOptions({
        rpID: hostOf(c),
        challenge: Uint8Array.from(Buffer.from(await challenge(), "base64url")),
        userVerification: "required",
      });
    },

    /** The person of the passkey; undefined if it is unknown or the signature does not answer a challenge of ours. */
    async authenticate(c: Context, response: unknown): Promise<Grant | undefined> {
      const given = response as AuthenticationResponseJSON;
      const found = await app.passkeys.find(String(given?.id));
      if (!found) return undefined;
      const { verifyAuthenticationResponse } = await library();
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: given,
        expectedChallenge: isAnswered,
        expectedOrigin: arrivalOf(c).origin,
        expectedRPID: hostOf(c),
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

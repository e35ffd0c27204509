import type { ClientAuth, Configuration } from "openid-client";
import * as z from "zod";
import type { App } from "../app.ts";
import type { OidcConfig } from "../config/oidc.ts";
import { ok, type Result, refuse } from "../kernel/result.ts";
import type { Grant } from "../people/grants.ts";
import { hashOf, newSecret } from "../people/secrets.ts";
import { type Claims, claimedBy, hasClaim, refusalText } from "./oidc-claims.ts";

export const callbackPath = "/sign-in/oidc";

const minutes = 10;
const timeoutSeconds = 10;
const discoverAgainMs = 3_600_000;

const challenge = z.object({ nonce: z.string(), verifier: z.string(), browser: z.string(), to: z.string() });

/**
 * Sign-in at an identity provider: authorization code with PKCE, state and nonce. The browser gets a secret in a cookie
 * before it leaves, and only the same browser can use the answer: a link with somebody else's answer signs nobody in.
 */
export function oidcSignIn(app: App, config: OidcConfig, origin: string, reservedNames: readonly string[]) {
  // Loaded with the first sign-in.
  const library = () => import("openid-client");
  const redirectUri = `${origin}${callbackPath}`;
  let discovered: { at: number; provider: Promise<Configuration> } | undefined;

  function provider(): Promise<Configuration> {
    if (discovered && Date.now() - discovered.at < discoverAgainMs) return discovered.provider;
    const found = discover(config);
    discovered = { at: Date.now(), provider: found };
    found.catch(() => {
      discovered = undefined;
    });
    return found;
  }

  async function unreachable<T>(what: string, work: () => Promise<T>): Promise<Result<T>> {
    try {
      return ok(await work());
    } catch (error) {
      const { message, cause } = error as Error;
      app.log.warn({ error: message, cause: String(cause ?? "") }, "oidc-failed");
      return refuse("denied", `${config.label} ${what}; try again, and see the server's log if it happens again`);
    }
  }

  return {
    label: config.label,
    sessionHours: config.session_hours,

    /** The address of the provider to open, and the secret that the browser keeps meanwhile. */
    async start(to: string, browser = newSecret()): Promise<Result<{ url: string; browser: string }>> {
      return unreachable("does not answer", async () => {
        const [client, found] = await Promise.all([library(), provider()]);
        const [state, nonce, verifier] = [client.randomState(), client.randomNonce(), client.randomPKCECodeVerifier()];
        await app.challenges.add(state, { nonce, verifier, browser: hashOf(browser), to }, minutes);
        const url = client.buildAuthorizationUrl(found, {
          redirect_uri: redirectUri,
          scope: [...new Set(["openid", ...config.scopes])].join(" "),
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256",
          state,
          nonce,
        });
        return { url: url.href, browser };
      });
    },

    /** Checks the provider's answer, which is in the query of the callback, and finds or adds the person. */
    async finish(search: string, browser: string | undefined): Promise<Result<{ grant: Grant; to: string }>> {
      const answer = new URLSearchParams(search);
      const state = answer.get("state") ?? "";
      const read = challenge.safeParse(await app.challenges.take(state));
      if (!read.success || browser === undefined || read.data.browser !== hashOf(browser))
        return refuse(
          "denied",
          `this sign-in was started more than ${minutes} minutes ago or in another browser; try again`,
        );
      const said = answer.get("error");
      if (said !== null) return refuse("denied", refusalText(config.label, said, answer.get("error_description")));
      const { nonce, verifier, to } = read.data;
      const checked = await unreachable("gave an answer that does not hold", async () => {
        const [client, found] = await Promise.all([library(), provider()]);
        const tokens = await client.authorizationCodeGrant(found, new URL(`${redirectUri}?${answer}`), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const claims: Claims = { ...tokens.claims() };
        const isComplete = hasClaim(claims, config.groups_claim) && hasClaim(claims, config.name_claim);
        if (isComplete || !found.serverMetadata().userinfo_endpoint) return claims;
        const more = await client.fetchUserInfo(found, tokens.access_token, String(claims.sub));
        return { ...more, ...claims };
      });
      if (!checked.ok) return checked;
      const signedIn = await app.identities.signIn(claimedBy(checked.value, config), reservedNames);
      return signedIn.ok ? ok({ grant: signedIn.value, to }) : signedIn;
    },

    /** Where the browser ends its session at the provider, if the provider offers that and signed this person in. */
    async endSession(person: string): Promise<string | undefined> {
      if (!(await app.identities.issuersOf(person)).includes(config.issuer)) return undefined;
      const found = await unreachable("does not answer", async () => {
        const [client, known] = await Promise.all([library(), provider()]);
        if (!known.serverMetadata().end_session_endpoint) return undefined;
        return client.buildEndSessionUrl(known, {
          client_id: config.client_id,
          post_logout_redirect_uri: `${origin}/sign-in`,
        }).href;
      });
      return found.ok ? found.value : undefined;
    },
  };
}

export type OidcSignIn = ReturnType<typeof oidcSignIn>;

async function discover({ issuer, client_id, clientSecret }: OidcConfig): Promise<Configuration> {
  const client = await import("openid-client");
  const address = new URL(issuer);
  const found = await client.discovery(
    address,
    client_id,
    undefined,
    clientSecret === undefined ? client.None() : withSecret(client, clientSecret),
    { timeout: timeoutSeconds, ...(address.protocol === "http:" ? { execute: [client.allowInsecureRequests] } : {}) },
  );
  // The signature of the ID token is checked too, not only the connection that it came over.
  client.enableNonRepudiationChecks(found);
  return found;
}

/** In the way that the provider supports; in the header unless it says otherwise. */
const withSecret =
  (client: typeof import("openid-client"), secret: string): ClientAuth =>
  (server, ...rest) => {
    const isBasic = server.token_endpoint_auth_methods_supported?.includes("client_secret_basic") ?? true;
    return (isBasic ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret))(server, ...rest);
  };

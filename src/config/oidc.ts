import * as z from "zod";

const rank = z.enum(["reader", "collaborator", "admin"], { error: "expected reader, collaborator or admin" });
const text = z.string().trim().min(1).max(300);
const claim = z.string().min(1).max(200);

/** Loopback is for providers in tests and on a developer's machine. */
const issuer = z
  .string()
  .max(500)
  .refine((given) => {
    if (!URL.canParse(given)) return false;
    const { protocol, hostname, search, hash } = new URL(given);
    const isLocal = ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
    return (protocol === "https:" || (protocol === "http:" && isLocal)) && search === "" && hash === "";
  }, "expected an https address such as https://login.example.org/realms/team");

export const oidcBlock = z.strictObject({
  issuer: issuer.describe("Address of the identity provider, as in its discovery document"),
  client_id: text.describe("Id of the client that the provider has for this server"),
  label: z.string().trim().min(1).max(60).default("single sign-on").describe("Name of the provider on the button"),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, "expected a scope such as email"))
    .max(20)
    .default(["openid", "profile", "email"])
    .describe("Scopes to ask for; `openid` is added if it is missing"),
  name_claim: claim
    .default("name")
    .describe("Claim with the name that the record shows; `preferred_username` and `email` follow if it is missing"),
  groups_claim: claim
    .default("groups")
    .describe("Claim with the groups or roles of the person; dots lead into nested claims, as in realm_access.roles"),
  ranks: z.record(z.string().min(1).max(300), rank).default({}).describe("Rank of each group; the highest one counts"),
  default_rank: z
    .enum(["none", "reader", "collaborator"], { error: "expected none, reader or collaborator" })
    .default("none")
    .describe("Rank of people in none of these groups; `none` refuses them"),
  session_hours: z
    .int()
    .min(1)
    .max(720)
    .default(12)
    .describe("Hours after which a session ends and the provider is asked again"),
});

/** In the person's own file; only there and in the environment the secret is allowed, because scriptorium.yaml is in git. */
export const ownOidcBlock = oidcBlock.partial().extend({
  client_secret: text
    .optional()
    .describe("Secret of the client. The variable `SCRIPTORIUM_OIDC_CLIENT_SECRET` overrides it"),
});

export type OidcConfig = z.output<typeof oidcBlock> & {
  /** Undefined for a public client, which has only PKCE. */
  clientSecret: string | undefined;
};

/** The settings of the person's file without the secret, which scriptorium.yaml has no key for. */
export function withoutSecret(settings: Record<string, unknown>): {
  secret: string | undefined;
  rest: Record<string, unknown>;
} {
  const { oidc, ...others } = settings;
  if (oidc === null || typeof oidc !== "object") return { secret: undefined, rest: settings };
  const { client_secret, ...keys } = oidc as Record<string, unknown>;
  const secret = typeof client_secret === "string" ? client_secret : undefined;
  return { secret, rest: Object.keys(keys).length > 0 ? { ...others, oidc: keys } : others };
}

import { type Context, Hono } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import * as z from "zod";
import type { App } from "../app.ts";
import type { Grant } from "../people/grants.ts";
import { longestDays } from "../people/sessions.ts";
import { type Env, readBody } from "./api.ts";
import { arrivalOf } from "./arrival.ts";
import { callbackPath, type OidcSignIn } from "./oidc.ts";
import type { PasskeyCeremonies } from "./passkeys.ts";
import { cookieNameFor, isTls, type LinkSecret, type SignIn } from "./sign-in.ts";
import { signInLimit } from "./sign-in-limit.ts";
import { signInPage } from "./sign-in-page.ts";

type Given = {
  signIn: SignIn;
  cookie: string;
  ceremonies: PasskeyCeremonies;
  /** Undefined when no identity provider is configured. */
  oidc: OidcSignIn | undefined;
  /** The public origin. The provider sends browsers back there only. */
  baseUrl: string | undefined;
};

const secret = z.string().min(1).max(200).optional();
const linkBody = z.object({ code: secret, token: secret, replace: z.boolean().optional() });
const passkeyBody = z.object({ response: z.looseObject({}), replace: z.boolean().optional() });
const startBody = z.object({ to: z.string().max(2000).optional() });
const callbackBody = z.object({ search: z.string().max(8000) });
const newPasskeyBody = z.object({ response: z.looseObject({}), name: z.string().trim().min(1).max(100) });

const usedLink =
  "this sign-in link has expired or was already used; ask for a new one, or create one with: scriptorium session link";

/**
 * Signing in and out. A link only shows a page; its script then sends the code or token by POST, so that neither a
 * prefetch nor a link of another site signs anyone in, and it stores the page secret that the answer contains.
 */
export function signInRoutes(app: App, { signIn, cookie, ceremonies, oidc, baseUrl }: Given) {
  const routes = new Hono<Env>();
  const limit = signInLimit();

  routes.use("/sign-in/*", async (c, next) => {
    if (c.req.method !== "POST") return next();
    const { client } = arrivalOf(c);
    const wait = limit.waitOf(client);
    if (wait !== undefined) {
      const error = `too many failed attempts to sign in; try again in ${wait} seconds`;
      return c.json({ status: "refused", error }, 429, { "retry-after": String(wait) });
    }
    await next();
    if (c.res.status !== 401 && c.res.status !== 400) return;
    limit.count(client);
    app.log.info({ client, path: c.req.path }, "sign-in-refused");
  });

  routes.get("/sign-in", async (c) => page(c, { to: pathIn(c.req.query("to") ?? "/") }));

  routes.post("/sign-in", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    const given = linkBody.safeParse(body);
    if (!given.success) return invalid(c, "expected a code or a token");
    const { replace = false, ...link } = given.data;
    const grant = await signIn.grantOfLink(link);
    if (!grant) return denied(c, usedLink);
    const spend = async () => link.code === undefined || (await app.codes.take(link.code)) !== undefined;
    return open(c, grant, replace, { spend });
  });

  routes.post("/sign-in/passkey/options", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    return c.json(await ceremonies.authenticationOptions(c));
  });

  routes.post("/sign-in/passkey", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    const given = passkeyBody.safeParse(body);
    if (!given.success) return invalid(c, "expected the response of a passkey");
    const grant = await ceremonies.authenticate(c, given.data.response);
    if (!grant) return denied(c, "this passkey is not known here; use a sign-in link");
    return open(c, grant, given.data.replace ?? false);
  });

  if (oidc) oidcRoutes(oidc);

  routes.post("/sign-out", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    const { session, person } = (await signIn.principal(c)) ?? {};
    if (session?.isFromPage) await app.sessions.revoke(session.id, person?.name ?? session.grant.person);
    deleteCookie(c, cookieNameFor(c, cookie), { path: "/", secure: isTls(c) });
    const atProvider = session?.isFromPage ? await oidc?.endSession(session.grant.person) : undefined;
    return c.json({ status: "signed_out", ...(atProvider ? { continue: atProvider } : {}) });
  });

  /** The page of the callback posts its own address: the strict cookie does not come with a link from the provider. */
  function oidcRoutes(provider: OidcSignIn): void {
    const browserCookie = (c: Context) => cookieNameFor(c, `${cookie}-oidc`);

    routes.get(callbackPath, async (c) => page(c, { to: "/", isCallback: true }));

    routes.post(`${callbackPath}/start`, async (c) => {
      const body = await readBody(c);
      if (body instanceof Response) return body;
      const given = startBody.safeParse(body);
      if (!given.success) return invalid(c, "expected a path");
      if (arrivalOf(c).origin !== baseUrl) return denied(c, `open ${baseUrl} to sign in with ${provider.label}`);
      const started = await provider.start(pathIn(given.data.to ?? "/"), getCookie(c, browserCookie(c)));
      if (!started.ok) return denied(c, started.problem.message);
      const { url, browser } = started.value;
      setCookie(c, browserCookie(c), browser, { ...strict, maxAge: 600, secure: isTls(c) });
      return c.json({ url });
    });

    routes.post(callbackPath, async (c) => {
      const body = await readBody(c);
      if (body instanceof Response) return body;
      const given = callbackBody.safeParse(body);
      if (!given.success) return invalid(c, "expected the query of the callback");
      const done = await provider.finish(given.data.search, getCookie(c, browserCookie(c)));
      if (!done.ok) return denied(c, done.problem.message);
      // The person has just chosen at the provider whom to be.
      return open(c, done.value.grant, true, { to: done.value.to, hours: provider.sessionHours });
    });
  }

  /** Never replaces the session of another person unless the page says that they agreed. */
  async function open(c: Context, grant: Grant, isReplacing: boolean, how: Opening = {}): Promise<Response> {
    const { spend = async () => true, hours, to } = how;
    const person = await signIn.personOf(grant);
    if (!person) return denied(c, usedLink);
    const before = await signIn.principal(c);
    if (before?.session && !isSame(before.session.grant, grant) && !isReplacing) {
      const name = before.person?.name ?? "";
      return c.json({ status: "conflict", message: `you are signed in as ${name}`, signed_in_as: name }, 409);
    }
    if (!(await spend())) return denied(c, usedLink);
    if (before?.session) await app.sessions.revoke(before.session.id, person.name);
    const session = await app.sessions.open(grant, c.req.header("user-agent") ?? "", hours);
    const maxAge = hours === undefined ? longestDays * 86_400 : hours * 3600;
    setCookie(c, cookieNameFor(c, cookie), session.cookie, { ...strict, maxAge, secure: isTls(c) });
    return c.json({ person: person.name, page_secret: session.pageSecret, ...(to === undefined ? {} : { to }) });
  }

  /** The page for people who are not signed in, and for those who opened a link. */
  async function page(c: Context, { to, status = 200, isCallback = false }: Shown): Promise<Response> {
    const link: LinkSecret = { code: c.req.query("code"), token: c.req.query("token") };
    const hasLink = link.code !== undefined || link.token !== undefined;
    const grant = await signIn.grantOfLink(link);
    const site = c.req.header("sec-fetch-site");
    return signInPage(c, status, {
      to,
      link: !hasLink ? "none" : !grant ? "expired" : "valid",
      ...(grant ? { person: grant.person, workspace: app.config.name } : {}),
      is_own_click: site === "none" || site === "same-origin",
      // A browser does not send the SameSite=Strict cookie when it follows a link from another site. The page then
      // loads the address again from here, and the cookie is sent.
      is_from_elsewhere: site === "cross-site" || site === "same-site",
      passkeys: ceremonies.isPossible(c) && (await app.passkeys.list()).length > 0,
      ...(oidc && arrivalOf(c).origin === baseUrl ? { oidc: { label: oidc.label, is_callback: isCallback } } : {}),
    });
  }

  return { routes, page };
}

type Opening = { spend?: () => Promise<boolean>; hours?: number; to?: string };
type Shown = { to: string; status?: 200 | 401; isCallback?: boolean };

const strict = { httpOnly: true, sameSite: "Strict", path: "/" } as const;

/** Passkeys of the signed-in person: the browser creates one, and its answer is stored. */
export function passkeyRoutes(app: App, ceremonies: PasskeyCeremonies): Hono<Env> {
  const routes = new Hono<Env>();
  // A passkey would still sign them in after the provider has refused them.
  const isOfProvider = async ({ person, isOwner }: Grant) =>
    !isOwner && (await app.identities.issuersOf(person)).length > 0;
  const grantIn = (c: Context<Env>) => (ceremonies.isPossible(c) ? c.get("principal").session?.grant : undefined);
  routes.post("/options", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    const grant = grantIn(c);
    if (!grant) return elsewhere(c);
    if (await isOfProvider(grant)) return atProvider(c);
    return c.json(await ceremonies.registrationOptions(c, grant));
  });
  routes.post("/", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    const grant = grantIn(c);
    if (!grant) return elsewhere(c);
    if (await isOfProvider(grant)) return atProvider(c);
    const given = newPasskeyBody.safeParse(body);
    if (!given.success) return invalid(c, "expected the response of a passkey, and a name");
    const made = await ceremonies.register(c, grant, given.data.response, given.data.name);
    return made ? c.json(made) : invalid(c, "the browser's answer does not fit the request; try again");
  });
  return routes;
}

const elsewhere = (c: Context) =>
  c.json(
    {
      status: "refused",
      error: "a passkey is created in a browser that opened the link of scriptorium serve, or the public https address",
    },
    422,
  );

const atProvider = (c: Context) =>
  c.json({ status: "refused", error: "your identity provider signs you in; add the passkey there" }, 422);

const isSame = (a: Grant, b: Grant) => a.person === b.person && a.isOwner === b.isOwner;

const invalid = (c: Context, error: string) => c.json({ status: "invalid", error }, 400);
const denied = (c: Context, error: string) => c.json({ status: "denied", error }, 401);

/** The requested path without the code or token. */
export function addressOf(c: Context): string {
  const url = new URL(c.req.url);
  url.searchParams.delete("token");
  url.searchParams.delete("code");
  return pathOf(url);
}

/** The path in a text of unknown origin; "/" if the text leads to another host. */
function pathIn(text: string): string {
  const own = "http://own.invalid";
  const url = URL.canParse(text, own) ? new URL(text, own) : undefined;
  return url?.origin === own ? pathOf(url) : "/";
}

/** Leading slashes are collapsed: `//name` would be another host. */
const pathOf = ({ pathname, search }: URL) => pathname.replace(/^[/\\]+/, "/") + search;

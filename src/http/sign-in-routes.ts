import { type Context, Hono } from "hono";
import { deleteCookie, setCookie } from "hono/cookie";
import * as z from "zod";
import type { App } from "../app.ts";
import type { Grant } from "../people/grants.ts";
import { longestDays } from "../people/sessions.ts";
import { type Env, readBody } from "./api.ts";
import type { PasskeyCeremonies } from "./passkeys.ts";
import { cookieNameFor, isTls, type LinkSecret, type SignIn } from "./sign-in.ts";
import { signInPage } from "./sign-in-page.ts";

type Given = { signIn: SignIn; cookie: string; ceremonies: PasskeyCeremonies };

const secret = z.string().min(1).max(200).optional();
const linkBody = z.object({ code: secret, token: secret, replace: z.boolean().optional() });
const passkeyBody = z.object({ response: z.looseObject({}), replace: z.boolean().optional() });
const newPasskeyBody = z.object({ response: z.looseObject({}), name: z.string().trim().min(1).max(100) });

const usedLink =
  "this sign-in link has expired or was already used; ask for a new one, or create one with: scriptorium session link";

/**
 * Signing in and out. A link only shows a page; its script then sends the code or token by POST, so that neither a
 * prefetch nor a link of another site signs anyone in, and it stores the page secret that the answer contains.
 */
export function signInRoutes(app: App, { signIn, cookie, ceremonies }: Given) {
  const routes = new Hono<Env>();

  routes.get("/sign-in", async (c) => page(c, { to: pathIn(c.req.query("to") ?? "/") }));

  routes.post("/sign-in", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    const given = linkBody.safeParse(body);
    if (!given.success) return invalid(c, "expected a code or a token");
    const { replace = false, ...link } = given.data;
    const grant = await signIn.grantOfLink(link);
    if (!grant) return denied(c, usedLink);
    return open(
      c,
      grant,
      replace,
      async () => link.code === undefined || (await app.codes.take(link.code)) !== undefined,
    );
  });

  routes.post("/sign-in/passkey/options", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    return c.json(await ceremonies.authenticationOptions());
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

  routes.post("/sign-out", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    const { session, person } = (await signIn.principal(c)) ?? {};
    if (session?.isFromPage) await app.sessions.revoke(session.id, person?.name ?? session.grant.person);
    deleteCookie(c, cookieNameFor(c, cookie), { path: "/", secure: isTls(c) });
    return c.json({ status: "signed_out" });
  });

  /** Never replaces the session of another person unless the page says that they agreed. */
  async function open(c: Context, grant: Grant, isReplacing: boolean, spend = async () => true): Promise<Response> {
    const person = await signIn.personOf(grant);
    if (!person) return denied(c, usedLink);
    const before = await signIn.principal(c);
    if (before?.session && !isSame(before.session.grant, grant) && !isReplacing) {
      const name = before.person?.name ?? "";
      return c.json({ status: "conflict", message: `you are signed in as ${name}`, signed_in_as: name }, 409);
    }
    if (!(await spend())) return denied(c, usedLink);
    if (before?.session) await app.sessions.revoke(before.session.id, person.name);
    const session = await app.sessions.open(grant, c.req.header("user-agent") ?? "");
    setCookie(c, cookieNameFor(c, cookie), session.cookie, {
      httpOnly: true,
      sameSite: "Strict",
      path: "/",
      maxAge: longestDays * 86_400,
      secure: isTls(c),
    });
    return c.json({ person: person.name, page_secret: session.pageSecret });
  }

  /** The page for people who are not signed in, and for those who opened a link. */
  async function page(c: Context, { to, status = 200 }: { to: string; status?: 200 | 401 }): Promise<Response> {
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
    });
  }

  return { routes, page };
}

/** Passkeys of the signed-in person: the browser creates one, and its answer is stored. */
export function passkeyRoutes(ceremonies: PasskeyCeremonies): Hono<Env> {
  const routes = new Hono<Env>();
  const grantIn = (c: Context<Env>) => (ceremonies.isPossible(c) ? c.get("principal").session?.grant : undefined);
  routes.post("/options", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    const grant = grantIn(c);
    return grant ? c.json(await ceremonies.registrationOptions(grant)) : elsewhere(c);
  });
  routes.post("/", async (c) => {
    const body = await readBody(c);
    if (body instanceof Response) return body;
    const grant = grantIn(c);
    if (!grant) return elsewhere(c);
    const given = newPasskeyBody.safeParse(body);
    if (!given.success) return invalid(c, "expected the response of a passkey, and a name");
    const made = await ceremonies.register(c, grant, given.data.response, given.data.name);
    return made ? c.json(made) : invalid(c, "the browser's answer does not fit the request; try again");
  });
  return routes;
}

const elsewhere = (c: Context) =>
  c.json(
    { status: "refused", error: "a passkey is created in a browser that opened the link of scriptorium serve" },
    422,
  );

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

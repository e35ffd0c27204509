import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { scriptorium, serve } from "./support/commands.ts";
import { type IdentityProvider, type Lie, startProvider } from "./support/identity-provider.ts";
import { type Answer, ask, type SessionHeaders } from "./support/requests.ts";
import { newWorkspace, sampledEngines } from "./support/workspace.ts";

const ada = { sub: "u-1", name: "Ada L.", email: "ada@example.org", email_verified: true, groups: ["wiki-admins"] };

const mapping = `
  groups_claim: realm.roles
  ranks:
    wiki-admins: admin
    writers: collaborator
    "*": admin
`;

/** A port that is free now: the provider is told the address of the server before the server runs. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

async function team(engine: (typeof sampledEngines)[number], more = "") {
  const provider = await startProvider();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const ranks = more.includes("ranks")
    ? ""
    : "  ranks: { wiki-admins: admin, writers: collaborator, readers: reader }\n";
  const config = `port: ${port}\nbase_url: ${url}\noidc:\n  issuer: ${provider.issuer}\n  client_id: scriptorium\n  label: Example Login\n${ranks}${more}`;
  const { app, root } = await newWorkspace({ engine, config });
  const env = { SCRIPTORIUM_OIDC_CLIENT_SECRET: provider.secret };
  const served = await serve(root, env, port);
  return { app, root, provider, ...served, env };
}

type Started = { cookie: string; to: string };

const post = (url: string, path: string, body: object, headers: Record<string, string> = {}) =>
  ask(url, path, { method: "POST", headers: { origin: url, ...headers }, body });

async function begin(url: string, to = "/"): Promise<Started> {
  const answer = await post(url, "/sign-in/oidc/start", { to });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("http")]);
  return { cookie: cookieOf(answer), to: answer.json().url };
}

const cookieOf = (answer: Answer) => String(answer.headers["set-cookie"]?.[0]).split(";", 1)[0] ?? "";

/** Follows the browser to the provider, and returns the query with which it comes back. */
async function atProvider(to: string): Promise<string> {
  const answer = await ask(to, `${new URL(to).pathname}${new URL(to).search}`);
  expect(answer.status).toBe(302);
  return new URL(String(answer.headers.location)).search;
}

/** The whole way, as the browser goes it. */
async function signInAs(
  { url, provider }: { url: string; provider: IdentityProvider },
  person: Record<string, unknown>,
): Promise<{ answer: Answer; session: SessionHeaders }> {
  provider.person = person;
  const { cookie, to } = await begin(url);
  const answer = await post(url, "/sign-in/oidc", { search: await atProvider(to) }, { cookie });
  const own = answer.status === 200 ? cookieOf(answer) : "";
  return { answer, session: { cookie: own, "x-page-secret": answer.status === 200 ? answer.json().page_secret : "" } };
}

const usersOf = async (url: string, token: string) =>
  (await ask(url, "/api/people", { token }))
    .json()
    .users.map(({ name, rank }: { name: string; rank: string }) => [name, rank]);

describe.each(sampledEngines)("M15: sign-in with an identity provider, on %s", (engine) => {
  test("M15: the first sign-in adds the person with the highest rank of their groups, the next one changes it, and no group ends everything", async () => {
    const here = await team(engine);
    const { url, token } = here;
    const status = async (headers: SessionHeaders) => (await ask(url, "/api/tokens", { headers })).status;

    const first = await signInAs(here, { ...ada, groups: ["readers", "wiki-admins", "constructor"] });
    expect(first.answer.json()).toMatchObject({ person: "Ada L.", to: "/" });
    expect(await usersOf(url, token)).toEqual([["Ada L.", "admin"]]);
    expect(await status(first.session)).toBe(200);

    const made = await ask(url, "/api/tokens", {
      ...{ method: "POST", token, body: { kind: "person", rank: "admin", name: "Ada L." } },
    });
    // Another name at the provider is the same person here: the subject counts.
    const second = await signInAs(here, { ...ada, name: "Ada Byron", groups: ["readers"] });
    expect(second.answer.json()).toMatchObject({ person: "Ada L." });
    expect(await usersOf(url, token)).toEqual([["Ada L.", "reader"]]);
    expect(await status(first.session)).toBe(403);

    const third = await signInAs(here, { ...ada, groups: ["strangers"] });
    expect(third.answer.status).toBe(401);
    expect(third.answer.json().error).toContain("no group of yours has access here");
    expect(await usersOf(url, token)).toEqual([]);
    expect([await status(first.session), await status(second.session)]).toEqual([401, 401]);
    expect((await ask(url, "/api/entries", { token: made.json().token })).status).toBe(401);

    const back = await signInAs(here, { ...ada, groups: ["writers"] });
    expect(back.answer.status).toBe(200);
    expect(await usersOf(url, token)).toEqual([["Ada L.", "collaborator"]]);
    expect(await status(first.session)).toBe(401);
  });

  test("M15: nobody has access by default, and a person whom an admin removed does not come back by signing in", async () => {
    const here = await team(engine);
    const { url, token } = here;
    const stranger = await signInAs(here, { ...ada, groups: undefined });
    expect(stranger.answer.status).toBe(401);
    expect(await usersOf(url, token)).toEqual([]);

    const { session } = await signInAs(here, ada);
    expect((await ask(url, "/api/people/Ada%20L.", { method: "DELETE", token })).status).toBe(200);
    expect((await ask(url, "/api/entries", { headers: session })).status).toBe(401);
    const again = await signInAs(here, ada);
    expect(again.answer.status).toBe(401);
    expect(again.answer.json().error).toContain("an admin removed");
    await ask(url, "/api/people", { method: "POST", token, body: { name: "Ada L.", rank: "reader" } });
    expect((await signInAs(here, ada)).answer.status).toBe(200);
  });

  test("M15: two people with one name are two people, and an invited person is found by their verified address only", async () => {
    const here = await team(engine);
    const { url, token } = here;
    const invite = (name: string, email: string) =>
      ask(url, "/api/people", { method: "POST", token, body: { name, email, rank: "reader" } });
    await invite("Wei", "wei@example.org");
    await invite("Rea", "rea@example.org");
    const wei = { sub: "w-1", name: "Wei", email: "other@example.org", email_verified: true, groups: ["writers"] };
    const named = await signInAs(here, { ...wei, preferred_username: "wei.chen" });
    expect(named.answer.json().person).toBe("wei.chen");
    const unverified = await signInAs(here, { ...wei, sub: "w-2", email: "rea@example.org", email_verified: false });
    expect(unverified.answer.json().person).toBe("rea@example.org");
    const rea = await signInAs(here, { ...wei, sub: "r-1", name: "Rea C.", email: "Rea@example.org" });
    expect(rea.answer.json().person).toBe("Rea");
    const takenOver = await signInAs(here, { ...wei, sub: "x-1", name: "Rea\u202e", email: "rea@example.org" });
    expect(takenOver.answer.json().person).not.toBe("Rea");
    const owner = await signInAs(here, { ...wei, sub: "o-1", name: "Ada Lovelace", email: undefined });
    expect(owner.answer.json().person).not.toBe("Ada Lovelace");
  });

  test("M15: groups are read from nested claims and from the userinfo endpoint, and a group cannot be a property of objects", async () => {
    const here = await team(engine, mapping);
    const { provider } = here;
    const nested = { ...ada, groups: ["wiki-admins"], realm: { roles: ["writers"] } };
    await signInAs(here, nested);
    expect(await usersOf(here.url, here.token)).toEqual([["Ada L.", "collaborator"]]);
    provider.onlyUserinfo = ["realm"];
    await signInAs(here, { ...nested, realm: { roles: ["wiki-admins"] } });
    expect(provider.requests).toContain("/userinfo");
    expect(await usersOf(here.url, here.token)).toEqual([["Ada L.", "admin"]]);
    for (const realm of [{ roles: ["__proto__", "toString"] }, { roles: [["wiki-admins"]] }, { roles: 7 }, "x", null])
      expect([realm, (await signInAs(here, { ...nested, realm })).answer.status]).toEqual([realm, 401]);
  });

  test("M15: an answer that is forged, replayed or from another browser signs nobody in", async () => {
    const here = await team(engine);
    const { url, provider, app } = here;
    provider.person = ada;
    for (const lie of ["nonce", "audience", "issuer", "signature", "expired", "none-algorithm", "state"] as Lie[]) {
      provider.lie = lie;
      const { answer } = await signInAs(here, ada);
      expect([lie, answer.status, answer.headers["set-cookie"]]).toEqual([lie, 401, undefined]);
      expect(answer.json().error).toMatch(/try again/);
    }
    provider.lie = undefined;
    const good = await begin(url);
    const search = await atProvider(good.to);
    const other = await begin(url);
    const tries: [string, string, string][] = [
      ["without the cookie", search, ""],
      ["in another browser", await atProvider((await begin(url)).to), other.cookie],
      ["with a made-up code", search.replace(/code=\w+/, "code=00"), good.cookie],
      ["after its state was used", search, good.cookie],
      ["with nothing", "", good.cookie],
    ];
    for (const [what, given, cookie] of tries)
      expect([what, (await post(url, "/sign-in/oidc", { search: given }, { cookie })).status]).toEqual([what, 401]);
    expect(await app.sessions.list()).toEqual([]);
    expect(await app.users.list()).toEqual([]);
    // A page of another site can make the browser follow a link, and that alone does nothing.
    const followed = await ask(url, `/sign-in/oidc${search}`, {
      headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", cookie: good.cookie },
    });
    expect([followed.status, followed.headers["set-cookie"]]).toEqual([200, undefined]);
    const forged = await post(url, "/sign-in/oidc", { search }, { cookie: good.cookie, origin: "http://evil.test" });
    expect(forged.status).toBe(403);
  });

  test("M15: the browser goes to the provider with PKCE, state and nonce, and comes back to the page it wanted", async () => {
    const here = await team(engine);
    const { url, provider } = here;
    provider.person = ada;
    const { cookie, to } = await begin(url, "/runs?open=1");
    const asked = Object.fromEntries(new URL(to).searchParams);
    expect(asked).toMatchObject({
      ...{ response_type: "code", client_id: "scriptorium", code_challenge_method: "S256" },
      ...{ redirect_uri: `${url}/sign-in/oidc`, scope: "openid profile email" },
      ...{ state: expect.stringMatching(/.{30}/), nonce: expect.stringMatching(/.{30}/) },
    });
    const rows = JSON.stringify(await here.app.db.read.selectFrom("sign_in_challenges").selectAll().execute());
    expect(rows).not.toContain(asked.state);
    expect(rows).not.toContain(cookie.split("=").at(-1));
    const answer = await post(url, "/sign-in/oidc", { search: await atProvider(to) }, { cookie });
    expect(answer.json().to).toBe("/runs?open=1");
    const elsewhere = await begin(url, "//evil.test/x");
    const led = await post(url, "/sign-in/oidc", { search: await atProvider(elsewhere.to) }, elsewhere);
    expect(led.json().to).toBe("/");
  });

  test("M15: signing out ends the session here and, when the provider offers it, there; sessions end after the configured hours", async () => {
    const here = await team(engine, "  session_hours: 2\n");
    const { url, provider, app } = here;
    const { session, answer } = await signInAs(here, ada);
    expect(String(answer.headers["set-cookie"])).toContain("Max-Age=7200");
    const [row] = await app.sessions.list();
    expect(Date.parse(row?.expires_at ?? "") - Date.now()).toBeLessThan(2 * 3_600_000 + 1000);
    const out = await post(url, "/sign-out", {}, session);
    const next = new URL(out.json().continue);
    expect(next.origin + next.pathname).toBe(`${provider.issuer}/end`);
    expect(next.searchParams.get("post_logout_redirect_uri")).toBe(`${url}/sign-in`);
    expect((await ask(url, "/api/entries", { headers: session })).status).toBe(401);
    const passkey = await signInAs(here, ada);
    const refused = await post(url, "/api/passkeys/options", {}, passkey.session);
    expect(refused.status).toBe(422);
  });

  test("M15: the page offers the provider; its refusals and its absence are explained without details", async () => {
    const here = await team(engine);
    const { url, provider } = here;
    const page = await ask(url, "/", { headers: { accept: "text/html" } });
    expect(page.text).toContain("Example Login");
    const { cookie, to } = await begin(url);
    const state = new URL(to).searchParams.get("state");
    const said = await post(url, "/sign-in/oidc", { search: `?error=access_denied&state=${state}` }, { cookie });
    expect(said.json().error).toBe("you cancelled at Example Login, or it refused to sign you in");
    const again = await begin(url);
    const next = new URL(again.to).searchParams.get("state");
    const long = `?error=server_error&error_description=${encodeURIComponent(`down\u202e${"x".repeat(2000)}`)}&state=${next}`;
    const down = await post(url, "/sign-in/oidc", { search: long }, again);
    expect(down.json().error).toMatch(/^Example Login refused \(server_error\): down\[U\+202E\]x+$/);
    expect(down.text.length).toBeLessThan(500);
    expect(provider.secret).not.toBe("");
  });
});

test("M15: the secret of the client is refused in scriptorium.yaml, read from the person's file, and the provider waits to be allowed", async () => {
  const config =
    "base_url: http://127.0.0.1:9\noidc:\n  issuer: https://login.example.org\n  client_id: x\n  client_secret: s\n";
  const { root } = await newWorkspace();
  const { writeFileSync, readFileSync, mkdirSync } = await import("node:fs");
  const file = `${root}/scriptorium.yaml`;
  const before = readFileSync(file, "utf8");
  writeFileSync(file, before + config);
  const refused = await scriptorium(["status"], { cwd: root });
  expect(refused.stderr).toContain("client_secret");
  writeFileSync(file, before + config.replace("  client_secret: s\n", ""));
  const home = `${root}/.scriptorium/home`;
  mkdirSync(`${home}/scriptorium`, { recursive: true });
  writeFileSync(`${home}/scriptorium/config.yaml`, "oidc:\n  client_secret: from-the-file\n");
  const { loadConfig } = await import("../src/config/config.ts");
  const loaded = loadConfig(root, { HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home });
  if (!loaded.ok) throw new Error(loaded.problem.message);
  expect(loaded.value.oidc?.clientSecret).toBe("from-the-file");
  const trust = loaded.value.trust.check("server");
  expect(trust).toMatchObject({ ok: false, problem: { code: "denied" } });
});

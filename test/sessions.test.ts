import { get } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Person } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { createSignInLink, listSessions } from "../src/people/session-operations.ts";
import { scriptorium, serve } from "./support/commands.ts";
import { ask, postLink, type SessionHeaders, signIn } from "./support/requests.ts";
import { newWorkspace, sampledEngines } from "./support/workspace.ts";

const dayMs = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * dayMs).toISOString();

describe.each(sampledEngines)("S2: sessions (%s)", (engine) => {
  async function workspace() {
    const { app, root } = await newWorkspace({ engine });
    const served = await serve(root);
    const statusOf = async (session: SessionHeaders, path = "/api/entries") =>
      (await ask(served.url, path, { headers: session })).status;
    const addPerson = async (name: string, rank: string) => {
      const body = { name, rank };
      return (await ask(served.url, "/api/people", { method: "POST", token: served.token, body })).json();
    };
    return { app, root, ...served, statusOf, addPerson };
  }

  test("S2, T10: the cookie without the page secret gets the empty page and nothing else, whatever origin is forged", async () => {
    const { url, link, statusOf, app } = await workspace();
    const session = await signIn(link);
    expect(await statusOf(session)).toBe(200);
    const { cookie } = session;
    for (const secret of [undefined, "", "wrong", cookie.split("=").at(-1) ?? ""]) {
      const stolen = { cookie, ...(secret === undefined ? {} : { "x-page-secret": secret }), origin: url };
      for (const path of [
        "/api/entries",
        "/api/events",
        "/api/tokens",
        "/api/sessions",
        "/api/openapi.json",
        "/metrics",
      ])
        expect([path, (await ask(url, path, { headers: stolen })).status]).toEqual([path, 401]);
      const body = { kind: "person", name: "Mallory", rank: "admin" };
      const created = await ask(url, "/api/tokens", { method: "POST", headers: stolen, body });
      expect(created.status).toBe(401);
      expect(created.json().error).toContain("page secret");
      const signedOut = await ask(url, "/sign-out", { method: "POST", headers: stolen, body: {} });
      expect(signedOut.status).toBe(200);
    }
    expect(await app.tokens.list()).toEqual([]);
    // The page itself carries no secret that would make the cookie worth more.
    const page = await ask(url, "/", { headers: { cookie } });
    expect(page.status).toBe(200);
    expect(page.text).not.toContain(session["x-page-secret"]);
    expect(await statusOf(session)).toBe(200);
  });

  test("S2: a page secret belongs to one session, and the secrets are stored as hashes only", async () => {
    const { app, link, onceLink, statusOf } = await workspace();
    const [one, two] = [await signIn(link), await signIn(link)];
    expect(await statusOf({ cookie: one.cookie, "x-page-secret": two["x-page-secret"] })).toBe(401);
    const rows = JSON.stringify([
      await app.db.read.selectFrom("sessions").selectAll().execute(),
      await app.db.read.selectFrom("sign_in_codes").selectAll().execute(),
    ]);
    const secrets = [one, two].flatMap((session) => [session.cookie.split("=").at(-1), session["x-page-secret"]]);
    for (const secret of [...secrets, new URL(onceLink).searchParams.get("code")]) expect(rows).not.toContain(secret);
  });

  test("S2: a session ends after 7 days without use and after 30 days in any case, and use prolongs it", async () => {
    const { app, link, statusOf } = await workspace();
    const change = (set: object) => app.db.write((tx) => tx.updateTable("sessions").set(set).execute());
    const session = await signIn(link);
    await change({ seen_at: daysAgo(6.9) });
    expect(await statusOf(session)).toBe(200);
    const [row] = await app.db.read.selectFrom("sessions").selectAll().execute();
    expect(Date.parse(row?.seen_at ?? "")).toBeGreaterThan(Date.now() - 60_000);
    await change({ seen_at: daysAgo(7.1) });
    expect(await statusOf(session)).toBe(401);
    expect(await app.sessions.list()).toEqual([]);

    const other = await signIn(link);
    await change({ expires_at: daysAgo(0.1) });
    expect(await statusOf(other)).toBe(401);
    expect(await app.sessions.list()).toEqual([]);
  });

  test("S2: a person sees their own sessions, an admin everybody's, and each ends those they see", async () => {
    const { url, link, addPerson, statusOf, root } = await workspace();
    const owner = await signIn(link);
    const grace = await signIn((await addPerson("Grace", "reader")).link);
    const elsewhere = await signIn((await linkFor("Grace")).link);
    async function linkFor(name: string) {
      const headers = { ...owner, origin: url };
      return (await ask(url, "/api/sign-in-links", { method: "POST", headers, body: { name } })).json();
    }
    const listed = async (headers: SessionHeaders) => (await ask(url, "/api/sessions", { headers })).json().sessions;
    expect(await listed(grace)).toHaveLength(2);
    expect((await listed(grace)).filter(({ current }: { current: boolean }) => current)).toHaveLength(1);
    expect(await listed(owner)).toHaveLength(3);
    const [owners] = (await listed(owner)).filter(({ current }: { current: boolean }) => current);
    const revoke = (headers: SessionHeaders, id: string) =>
      ask(url, `/api/sessions/${id}`, { method: "DELETE", headers: { ...headers, origin: url } });
    expect((await revoke(grace, owners.id)).status).toBe(404);
    expect(await statusOf(owner)).toBe(200);

    const [other] = (await listed(grace)).filter(({ current }: { current: boolean }) => !current);
    expect((await revoke(grace, other.id)).status).toBe(200);
    expect([await statusOf(grace), await statusOf(elsewhere)]).toEqual([200, 401]);

    const shell = await scriptorium(["session", "list", "--json"], { cwd: root });
    const [graces] = shell.json<{ id: string; person: string }[]>().filter((one) => one.person === "Grace");
    const revoked = await scriptorium(["session", "revoke", graces?.id ?? ""], { cwd: root });
    expect([revoked.code, revoked.stderr]).toEqual([0, ""]);
    expect(await statusOf(grace)).toBe(401);
  });

  test("S2: signing out ends the session at once, and signing out everywhere every session of the person and no other", async () => {
    const { url, link, addPerson, statusOf } = await workspace();
    const post = (session: SessionHeaders, path: string, body = {}) =>
      ask(url, path, { method: "POST", headers: { ...session, origin: url }, body });
    const [one, two, three] = [await signIn(link), await signIn(link), await signIn(link)];
    const grace = await signIn((await addPerson("Grace", "collaborator")).link);
    const left = await post(one, "/sign-out");
    expect(left.headers["set-cookie"]?.[0]).toMatch(/Max-Age=0/);
    expect([await statusOf(one), await statusOf(two)]).toEqual([401, 200]);
    expect((await post(grace, "/api/sessions/revoke", { person: "Ada Lovelace" })).status).toBe(403);
    expect((await post(two, "/api/sessions/revoke")).json()).toMatchObject({ revoked: 2 });
    expect([await statusOf(two), await statusOf(three), await statusOf(grace)]).toEqual([401, 401, 200]);
  });

  test("S2: a revoked token and a removed user end their sessions, and open event streams with them", async () => {
    const { url, token, addPerson, statusOf } = await workspace();
    const made = (
      await ask(url, "/api/tokens", { method: "POST", token, body: { kind: "person", name: "Bob", rank: "admin" } })
    ).json();
    const bob = await signIn(`${url}/?token=${made.token}`);
    const grace = await signIn((await addPerson("Grace", "reader")).link);
    const [bobs, graces] = [stream(url, bob), stream(url, grace)];
    await Promise.all([bobs.opened, graces.opened]);
    expect((await ask(url, `/api/tokens/${made.id}`, { method: "DELETE", token })).status).toBe(200);
    await bobs.ended;
    expect([await statusOf(bob), await statusOf(grace)]).toEqual([401, 200]);
    expect((await ask(url, "/api/people/Grace", { method: "DELETE", token })).status).toBe(200);
    await graces.ended;
    expect(await statusOf(grace)).toBe(401);
    expect(bobs.text() + graces.text()).not.toMatch(/event: (token-revoked|user-removed)/);
  });

  test("S10: only admins see events about tokens, people, sessions and passkeys", async () => {
    const { url, token, link, addPerson } = await workspace();
    const grace = await signIn((await addPerson("Grace", "collaborator")).link);
    const admin = await signIn(link);
    const readers = [stream(url, grace, "0"), stream(url, admin, "0")] as const;
    await Promise.all(readers.map(({ opened }) => opened));
    await addPerson("Bob", "reader");
    await ask(url, "/api/tokens", { method: "POST", token, body: { kind: "agent", role: "planner" } });
    const task = { method: "POST", token, body: { title: "Last" } };
    await ask(url, "/api/tasks", task);
    for (const { text } of readers) await expect.poll(text).toContain("event: task-created");
    const kindsIn = (text: string) => [...text.matchAll(/^event: (\S+)/gm)].map(([, kind]) => kind ?? "");
    const access = /^(token|user|session|passkey)-/;
    expect(kindsIn(readers[0].text()).filter((kind) => access.test(kind))).toEqual([]);
    expect(new Set(kindsIn(readers[1].text()).filter((kind) => access.test(kind)))).toEqual(
      new Set(["session-link-created", "session-opened", "user-added", "token-created"]),
    );
    expect(readers[0].text()).not.toContain("Bob");
  });

  test("S2: a sign-in link works once, not after it expired, and not for a removed person", async () => {
    const { app, onceLink, addPerson, url, token } = await workspace();
    const both = await Promise.all([postLink(onceLink), postLink(onceLink)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
    expect((await postLink(onceLink)).json().error).toContain("expired or was already used");

    const late = await addPerson("Late", "reader");
    await app.db.write((tx) =>
      tx
        .updateTable("sign_in_codes")
        .set({ expires_at: daysAgo(0.001) })
        .execute(),
    );
    expect((await postLink(late.link)).status).toBe(401);
    const gone = await addPerson("Gone", "admin");
    await ask(url, "/api/people/Gone", { method: "DELETE", token });
    await addPerson("Gone", "reader");
    expect((await postLink(gone.link)).status).toBe(401);
  });

  test("S2: a link of another person never replaces a session unless the person agrees", async () => {
    const { url, link, addPerson, statusOf } = await workspace();
    const ada = await signIn(link);
    const { link: graces, code } = await addPerson("Grace", "collaborator");
    // Opening the link shows a page, and neither signs in nor uses the code up.
    for (const query of [`code=${code}`, "code=wrong"]) {
      const page = await ask(url, `/?${query}`, { headers: ada });
      expect([page.status, page.headers["set-cookie"]]).toEqual([200, undefined]);
    }
    const asked = await postLink(graces, {}, { cookie: ada.cookie });
    expect([asked.status, asked.headers["set-cookie"]]).toEqual([409, undefined]);
    expect(asked.json()).toMatchObject({ status: "conflict", signed_in_as: expect.any(String) });
    expect(await statusOf(ada)).toBe(200);
    const agreed = await postLink(graces, { replace: true }, { cookie: ada.cookie });
    expect(agreed.json()).toMatchObject({ person: "Grace" });
    // The replaced session has ended: its cookie is in no browser any more.
    expect(await statusOf(ada)).toBe(401);
  });

  test("S2: a link is created by the owner for themselves and by admins for users, and by nobody else", async () => {
    const { app, url, addPerson } = await workspace();
    await addPerson("Grace", "admin");
    const grace = await signIn((await addPerson("Rea", "reader")).link);
    const asReader = await ask(url, "/api/sign-in-links", {
      method: "POST",
      headers: { ...grace, origin: url },
      body: {},
    });
    expect(asReader.status).toBe(403);
    const admin: Person = { kind: "person", name: "Grace", rank: "admin", proof: "token" };
    expect(await createSignInLink.perform(app, {}, admin)).toMatchObject({ problem: { code: "invalid" } });
    expect(await createSignInLink.perform(app, { name: "Nobody" }, admin)).toMatchObject({
      problem: { code: "not_found" },
    });
    const unproven: Person = { kind: "person", name: "Ada", rank: "admin", isOwner: true };
    expect(await createSignInLink.perform(app, {}, unproven)).toMatchObject({ problem: { code: "denied" } });
    const made = unwrap(await createSignInLink.perform(app, { name: "Rea" }, admin));
    expect((await postLink(made.link)).json()).toMatchObject({ person: "Rea" });
    const { sessions } = unwrap(await listSessions.perform(app, {}, admin));
    expect(sessions.map((one) => one.person)).toEqual(["Rea", "Rea"]);
  });
});

describe("signing in", () => {
  test("S2: the cookie is strict, hidden from scripts and named after the workspace; behind TLS only this host may set it", async () => {
    const names: string[] = [];
    for (const proto of ["http", "https", "http"]) {
      const isTls = proto === "https";
      const config = isTls ? "base_url: https://wiki.example.org\ntrusted_proxies: [127.0.0.1]\n" : "";
      const { root } = await newWorkspace({ config });
      const { url, token, onceLink, link: given } = await serve(root);
      if (isTls) expect(new URL(onceLink).origin).toBe("https://wiki.example.org");
      const link = isTls ? `${url}/?token=${token}` : given;
      const forwarded: Record<string, string> = isTls
        ? { host: "wiki.example.org", "x-forwarded-proto": proto, origin: "https://wiki.example.org" }
        : {};
      const answer = await postLink(link, {}, forwarded);
      const [name = "", ...attributes] = String(answer.headers["set-cookie"]?.[0])
        .split(/[=;] ?/, 1)
        .concat(String(answer.headers["set-cookie"]?.[0]).split("; ").slice(1).sort());
      names.push(name);
      const secure = proto === "https" ? ["Secure"] : [];
      expect(attributes).toEqual(["HttpOnly", "Max-Age=2592000", "Path=/", "SameSite=Strict", ...secure].sort());
      expect(answer.text + answer.headers["set-cookie"]).not.toContain(token);
      const cookie = String(answer.headers["set-cookie"]?.[0]).split(";", 1)[0] ?? "";
      const headers = { cookie, "x-page-secret": answer.json().page_secret };
      expect((await ask(url, "/api/entries", { headers: { ...headers, ...forwarded } })).status).toBe(200);
      const plain = await ask(url, "/api/entries", { headers });
      expect(plain.status).toBe(proto === "https" ? 401 : 200);
      // The host name is a secret towards other ports, which may see the name of a cookie.
      if (isTls) continue;
      const host = new URL(link).hostname.split(".", 1)[0] ?? "none";
      expect(name).not.toContain(host);
      expect(host).toMatch(/^[0-9a-f]{20}$/);
    }
    expect(names[1]).toMatch(/^__Host-scriptorium-/);
    expect(new Set(names).size).toBe(3);
  });

  test("S2, T9: a sign-in is accepted from our own page only, under the address that it used", async () => {
    const { root } = await newWorkspace();
    const { url, link, onceLink } = await serve(root);
    const { origin, port } = new URL(link);
    const { hostname } = new URL(link);
    const foreign: Record<string, string>[] = [
      { origin: "http://evil.test" },
      { origin: `http://127.0.0.1:${port}` },
      { origin: `http://${hostname}:${Number(port) + 1}` },
      { origin: `http://evil.${hostname}:${port}` },
      { host: `evil.localhost:${port}` },
      { host: `evil.${hostname}:${port}` },
      { host: hostname },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "cross-site" },
    ];
    for (const headers of foreign) {
      const answer = await postLink(onceLink, {}, headers);
      expect([headers, answer.status, answer.headers["set-cookie"]]).toEqual([headers, 403, undefined]);
    }
    const silent = await ask(url, "/sign-in", { method: "POST", body: { code: "x" } });
    expect([silent.status, silent.json().error]).toEqual([403, expect.stringContaining("Origin header is missing")]);
    const form = { method: "POST", headers: { origin, "content-type": "text/plain" }, body: '{"code":"x"}' };
    expect((await ask(origin, "/sign-in", form)).status).toBe(415);
    expect((await postLink(onceLink)).status).toBe(200);
  });

  test("a sign-in page never leads to another host", async () => {
    const { root } = await newWorkspace();
    const { url, token } = await serve(root);
    const targetOf = (text: string) => JSON.parse(/id="boot">(.*?)<\/script>/s.exec(text)?.[1] ?? "{}").to;
    for (const path of ["//evil.test/", "///evil.test/", "/\\evil.test/", "/%2F/evil.test"]) {
      const { status, text } = await ask(url, `${path}?token=${token}`);
      expect([200, 400]).toContain(status);
      if (status === 200) expect(new URL(targetOf(text), url).origin).toBe(url);
    }
    for (const to of ["//evil.test", "/\t/evil.test", "\\\\evil.test", "http://evil.test/", "javascript:alert(1)"]) {
      const { text } = await ask(url, `/sign-in?to=${encodeURIComponent(to)}`);
      expect([to, new URL(targetOf(text), url).origin]).toEqual([to, url]);
    }
    expect(targetOf((await ask(url, "/sign-in?to=/entries/a?b=1")).text)).toBe("/entries/a?b=1");
  });

  test("a made-up cookie, an agent's token and a cookie of 0.1.0 sign nobody in", async () => {
    const { root } = await newWorkspace();
    const { url, token, link } = await serve(root);
    const { cookie } = await signIn(link);
    const name = cookie.split("=")[0] ?? "";
    for (const value of ["owner", "owner.AAAA", ".", "", "__proto__", "A".repeat(32), "A".repeat(100_00)])
      for (const given of [name, "scriptorium"]) {
        const headers = { cookie: `${given}=${value}`, "x-page-secret": value.slice(0, 100) };
        expect((await ask(url, "/api/entries", { headers })).status).toBe(401);
      }
    const agent = { method: "POST", token, body: { kind: "agent", role: "planner" } };
    const made = (await ask(url, "/api/tokens", agent)).json();
    const asAgent = await postLink(`${url}/?token=${made.token}`);
    expect([asAgent.status, asAgent.headers["set-cookie"]]).toEqual([401, undefined]);
  });

  test("S2: nobody who asks 127.0.0.1 without a code learns the workspace's own host name", async () => {
    const { root } = await newWorkspace();
    const { url, link, token } = await serve(root);
    const label = new URL(link).hostname.split(".", 1)[0] ?? "none";
    for (const path of ["/", "/sign-in", "/api/entries", "/healthz", "/nowhere", "/?code=x"])
      for (const headers of [{ accept: "text/html" }, { accept: "text/html", host: "evil.test" }, {}] as object[]) {
        const answer = await ask(url, path, { headers: { ...headers } });
        expect([path, JSON.stringify(answer)]).toEqual([path, expect.not.stringContaining(label)]);
      }
    const page = await ask(url, "/", { token });
    expect(page.headers["referrer-policy"]).toBe("no-referrer");
    expect(page.text).not.toContain(label);
  });

  test("S2: the server takes the port on ::1 too, so that no other program gets the requests of browsers", async () => {
    const { root } = await newWorkspace();
    const { url, token } = await serve(root);
    const { port } = new URL(url);
    const answer = await ask(`http://[::1]:${port}`, "/api/entries", { token }).catch((error) => error.code);
    if (answer === "EADDRNOTAVAIL") return;
    expect(answer).toMatchObject({ status: 200 });
  });
});

/** An open event stream of a signed-in browser. */
function stream(url: string, session: SessionHeaders, after?: string) {
  let text = "";
  let open = () => {};
  const opened = new Promise<void>((done) => {
    open = done;
  });
  const path = `${url}/api/events${after === undefined ? "" : `?after=${after}`}`;
  const ended = new Promise<void>((done) => {
    const request = get(path, { headers: session, agent: false }, (response) => {
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
        open();
      });
      response.on("end", done).on("error", () => done());
    });
    request.on("error", () => done());
    onTestFinished(() => void request.destroy());
  });
  return { opened, ended, text: () => text };
}

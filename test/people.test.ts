import { describe, expect, test } from "vitest";
import { unwrap } from "../src/kernel/result.ts";
import { addUser, createToken } from "../src/people/operations.ts";
import { serve } from "./support/commands.ts";
import { ask, signIn } from "./support/requests.ts";
import { newWorkspace, person, sampledEngines } from "./support/workspace.ts";

describe.each(sampledEngines)("R21: people (%s)", (engine) => {
  test("someone who is added signs in, follows a change of role at once, and is out when removed", async () => {
    const { app, root } = await newWorkspace({ engine });
    const { url, token: admin } = await serve(root);
    const body = { name: "Grace Hopper", email: "grace@example.org", rank: "reader" };
    const added = (await ask(url, "/api/people", { method: "POST", token: admin, body })).json();
    expect(added).toMatchObject({ name: "Grace Hopper", rank: "reader" });
    const session = await signIn(added.link);
    const create = { method: "POST", headers: { ...session, origin: url }, body: { title: "By Grace" } };
    expect((await ask(url, "/api/tasks", { headers: session })).status).toBe(200);
    expect((await ask(url, "/api/tasks", create)).status).toBe(403);

    const change = { method: "PUT", token: admin, body: { rank: "collaborator" } };
    expect((await ask(url, "/api/people/Grace%20Hopper", change)).status).toBe(200);
    expect((await ask(url, "/api/tasks", create)).status).toBe(200);
    const tokenFor = async (rank: string) =>
      unwrap(await createToken.perform(app, { kind: "person", name: "Grace Hopper", rank }, person()));
    // A token that was made to allow less stays so, and none allows more than its person may do.
    const narrower = await tokenFor("reader");
    const wider = await tokenFor("admin");
    expect((await ask(url, "/api/tasks", { ...create, headers: {}, token: narrower.token })).status).toBe(403);
    expect((await ask(url, "/api/tasks", { ...create, headers: {}, token: wider.token })).status).toBe(200);
    expect((await ask(url, "/api/tokens", { token: wider.token })).status).toBe(403);

    expect((await ask(url, "/api/people/Grace%20Hopper", { method: "DELETE", token: admin })).status).toBe(200);
    expect((await ask(url, "/api/tasks", { headers: session })).status).toBe(401);
    expect((await ask(url, "/api/tasks", { token: wider.token })).status).toBe(401);
  });

  test("a token is kept as a hash, and a name that would forge a line of a commit is refused", async () => {
    const { app } = await newWorkspace({ engine });
    await addUser.perform(app, { name: "Ada" }, person());
    const { token } = unwrap(await createToken.perform(app, { kind: "person", rank: "reader", name: "Ada" }, person()));
    expect(JSON.stringify(await app.db.read.selectFrom("tokens").selectAll().execute())).not.toContain(token);
    for (const name of ["Eve\nApproved-by: Ada", "Eve <x@y>", " "])
      for (const made of [
        await addUser.perform(app, { name }, person()),
        await createToken.perform(app, { kind: "person", rank: "reader", name }, person()),
      ])
        expect(made).toMatchObject({ ok: false, problem: { code: "invalid" } });
    expect(await addUser.perform(app, { name: "Ada" }, person())).toMatchObject({ problem: { code: "conflict" } });
  });
});

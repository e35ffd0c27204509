import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type App, openApp } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import type { Person } from "../src/kernel/caller.ts";
import { unwrap } from "../src/kernel/result.ts";
import { operations } from "../src/operation-list.ts";
import { jobWorkspace, openTopic, pageText } from "./support/jobs.ts";
import { agent, type Backend, engines, person, temporaryFolder, testEnvironment } from "./support/workspace.ts";

const better = pageText.replace("the button", "the green button");

/** A home with an SSH key for signing that git trusts for one address. */
function homeWithKey(email = "ada@example.org", trusted = email): string {
  const home = temporaryFolder();
  const key = join(home, "key");
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", email, "-f", key]);
  writeFileSync(join(home, "allowed"), `${trusted} ${readFileSync(`${key}.pub`, "utf8")}`);
  writeFileSync(
    join(home, ".gitconfig"),
    `[user]\n\tsigningkey = ${key}.pub\n[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\tallowedSignersFile = ${home}/allowed\n`,
  );
  return home;
}

/** A workspace that requires signatures, with a proposal for a page, in the environment of one person. */
async function signing(home: string, backend: Partial<Backend> = {}, env: Record<string, string> = {}) {
  const made = await jobWorkspace({}, backend);
  await made.app.close();
  const file = join(made.root, "scriptorium.yaml");
  writeFileSync(file, `${readFileSync(file, "utf8")}approvals: signed\n`);
  const open = async (from = home): Promise<App> => {
    const config = unwrap(loadConfig(made.root, { ...testEnvironment(), HOME: from, ...env }));
    const app = await openApp(config);
    onTestFinished(() => app.close().catch(() => undefined));
    return app;
  };
  const app = await open();
  const topic = await openTopic(app);
  const { blob } = unwrap(await app.pages.read("docs/deploy.md"));
  const input = { topic_id: topic, base_sha: blob, content: better };
  const id = unwrap(await operations.insert_proposal.perform(app, input, agent("planner"))).id;
  const signatures = async (from = app) => {
    const { findings } = unwrap(await operations.doctor.perform(from, {}, person()));
    return findings.filter(({ check }) => check === "approvals");
  };
  return { ...made, app, id, open, signatures };
}

const approve = (app: App, id: string, caller = person()) => operations.approve_proposal.perform(app, { id }, caller);

describe.each(engines)("V1: with approvals: signed, an approval (%s)", (engine) => {
  test("is signed with the person's key, in the record and on the commit, and doctor verifies both", async () => {
    const home = homeWithKey();
    const { root, app, id, signatures } = await signing(home, { engine });
    const { commit } = unwrap(await approve(app, id));
    const env = { ...testEnvironment(), HOME: home };
    const verified = execFileSync("git", ["-C", root, "log", "-1", "--format=%G? %GS%n%an%n%B", commit ?? ""], {
      env,
      encoding: "utf8",
    });
    expect(verified).toMatch(/^G ada@example\.org\nScriptorium agent\n/);
    expect(verified).toContain(`Proposal: ${id}`);
    expect(readFileSync(join(root, "docs/deploy.md"), "utf8")).toBe(better);
    const proposed = unwrap(
      await operations.create_section.perform(
        app,
        { id: "limits", title: "Limits", mode: "snapshot", writable_by: ["planner"], description: "x" },
        agent("planner"),
      ),
    );
    unwrap(await approve(app, proposed.proposal_id));
    expect(await signatures()).toMatchObject([{ state: "ok", message: "2 signed approvals, all valid" }]);
  });

  test("that was changed afterwards, or signed by another key, is a problem for doctor", async () => {
    const home = homeWithKey();
    const { app, id, open, signatures } = await signing(home, { engine });
    unwrap(await approve(app, id));
    const set = (values: { decided_by?: string; subject?: string; signature?: string }) =>
      app.db.write(async (tx) => void (await tx.updateTable("proposals").set(values).where("id", "=", id).execute()));
    const { signature } = await app.db.read.selectFrom("proposals").select("signature").executeTakeFirstOrThrow();
    await set({ decided_by: "Eve" });
    expect(await signatures()).toMatchObject([
      { state: "problem", message: expect.stringContaining("another approval") },
    ]);
    await set({
      decided_by: "Ada Lovelace",
      signature: signature?.replace("Approve proposal", "Approve proposals") ?? "",
    });
    expect(await signatures()).toMatchObject([
      { state: "problem", message: expect.stringContaining("signature is bad") },
    ]);
    await set({ signature: signature ?? "" });
    expect(await signatures()).toMatchObject([{ state: "ok" }]);
    const stranger = await open(homeWithKey());
    expect(await signatures(stranger)).toMatchObject([
      { state: "problem", message: expect.stringContaining("not known") },
    ]);
  });

  test("of somebody whose key is not here, or without a key, changes nothing", async () => {
    const home = homeWithKey();
    const { root, app, id, open } = await signing(home, { engine });
    const bob: Person = { kind: "person", name: "Bob", email: "bob@example.org", rank: "admin", proof: "session" };
    expect(await approve(app, id, bob)).toMatchObject({
      problem: { code: "refused", message: expect.stringContaining("the key of Bob is not on this machine") },
    });
    const keyless = await open(temporaryFolder());
    expect(await approve(keyless, id)).toMatchObject({
      problem: { code: "refused", message: expect.stringContaining("git could not sign") },
    });
    expect(await app.proposals.find(id)).toMatchObject({ status: "open" });
    expect(readFileSync(join(root, "docs/deploy.md"), "utf8")).toBe(pageText);
  });
});

test("V1, S4, T14: signing and verifying run no program that the repository names", async () => {
  const home = homeWithKey();
  const { root, app, id, git, signatures } = await signing(home);
  const trap = join(root, ".scriptorium", "trap");
  writeFileSync(trap, `#!/bin/sh\ntouch ${trap}.ran\nexit 1\n`);
  chmodSync(trap, 0o755);
  for (const key of [
    "gpg.program",
    "gpg.openpgp.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "gpg.ssh.defaultKeyCommand",
  ])
    git("config", key, trap);
  git("config", "gpg.ssh.allowedSignersFile", join(root, ".scriptorium", "nobody"));
  unwrap(await approve(app, id));
  expect(await signatures()).toMatchObject([{ state: "ok" }]);
  expect(existsSync(`${trap}.ran`)).toBe(false);
});

test("V1: a GPG key signs as an SSH key does", async (context) => {
  const home = temporaryFolder();
  const keyring = join(home, "gnupg");
  mkdirSync(keyring, { mode: 0o700 });
  const env = { GNUPGHOME: keyring };
  const key = ["--batch", "--passphrase", "", "--quick-gen-key", "Ada Lovelace <ada@example.org>", "ed25519", "sign"];
  try {
    execFileSync("gpg", key, { env: { ...testEnvironment(), ...env }, stdio: "ignore" });
  } catch {
    context.skip("gpg is not installed");
  }
  onTestFinished(() => void execFileSync("gpgconf", ["--kill", "all"], { env: { ...testEnvironment(), ...env } }));
  writeFileSync(join(home, ".gitconfig"), "[user]\n\tsigningkey = ada@example.org\n");
  const { app, id, signatures } = await signing(home, {}, env);
  unwrap(await approve(app, id));
  expect(await signatures()).toMatchObject([{ state: "ok", message: "1 signed approvals, all valid" }]);
});

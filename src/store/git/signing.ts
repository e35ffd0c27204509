import { ok, type Result, refuse } from "../../kernel/result.ts";
import type { Git, Identity } from "./git.ts";
import { gitEnvironment, runGit } from "./run-git.ts";
import type { SignCommit } from "./signed-import.ts";

/** How far git trusts a signature; `signer` is empty unless the key is known. */
export type Verification = { state: "good" | "unknown signer" | "bad" | "missing"; signer: string };

/** Variables by which git's signing programs find the person's keys. */
const keyVariables = ["SSH_AUTH_SOCK", "GNUPGHOME", "GPG_TTY"];
/** A person may have to enter a passphrase or touch a key. */
const signMs = 120_000;

/**
 * Signs and verifies with git, which knows SSH, OpenPGP and X.509 keys. A signed text is a commit object without
 * files. Programs and trusted keys come from the person's own configuration, never from the repository's.
 */
export function gitSigner(root: string, environment: Record<string, string | undefined>) {
  const keys = keyVariables.flatMap((name) => (environment[name] ? [[name, environment[name]] as const] : []));
  const env = { ...gitEnvironment(environment), ...Object.fromEntries(keys) };

  async function git(args: string[], input = "", more: Record<string, string> = {}) {
    const { code, stdout, stderr } = await runGit(args, {
      cwd: root,
      env: { ...env, ...more },
      input,
      timeoutMs: signMs,
    });
    return { code, text: stdout.toString("utf8").trimEnd(), stderr };
  }

  async function setting(key: string, ...scopes: string[]): Promise<string | undefined> {
    for (const scope of scopes) {
      const { code, text } = await git(["config", ...(scope === "any" ? [] : [scope]), "--get", key]);
      if (code === 0) return text;
    }
    return undefined;
  }
  const own = (key: string) => setting(key, "--global", "--system");

  /** Overrides every setting by which the repository could name a program or trust a key. */
  async function options(): Promise<string[]> {
    const openpgp = (await own("gpg.openpgp.program")) ?? (await own("gpg.program")) ?? "gpg";
    const chosen = {
      "gpg.program": openpgp,
      "gpg.openpgp.program": openpgp,
      "gpg.x509.program": (await own("gpg.x509.program")) ?? "gpgsm",
      "gpg.ssh.program": (await own("gpg.ssh.program")) ?? "ssh-keygen",
      "gpg.ssh.defaultKeyCommand": (await own("gpg.ssh.defaultKeyCommand")) ?? "",
      "gpg.ssh.allowedSignersFile": (await own("gpg.ssh.allowedSignersFile")) ?? "",
      "gpg.ssh.revocationFile": (await own("gpg.ssh.revocationFile")) ?? "",
    };
    return Object.entries(chosen).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
  }

  async function commitTree(args: string[], message: string, by: Identity, author: Record<string, string> = {}) {
    const identity = ["-c", `user.name=${by.name}`, "-c", `user.email=${by.email}`];
    const signed = await git([...(await options()), ...identity, "commit-tree", "-S", ...args], message, author);
    if (signed.code === 0) return ok(signed.text);
    const why = signed.stderr.trim().split("\n").at(-1) ?? "";
    return refuse(
      "refused",
      `git could not sign: ${why}; check user.signingkey and gpg.format in your git configuration`,
    );
  }

  return {
    /** The signed text, as the contents of a commit object. */
    async sign(text: string, by: Identity): Promise<Result<string>> {
      const tree = await git(["mktree"]);
      const signed = await commitTree([tree.text], `${text}\n`, by);
      return signed.ok ? ok((await git(["cat-file", "commit", signed.value])).text) : signed;
    },

    /** The same commit with a signature; its committer is the person who signs. */
    async signCommit(commit: string, by: Identity): Promise<Result<string>> {
      const { text } = await git(["cat-file", "commit", commit]);
      const end = text.indexOf("\n\n");
      const headers = text.slice(0, end).split("\n");
      const of = (name: string) =>
        headers.flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));
      const [, name = "", email = "", date = ""] = /^(.*) <(.*)> (\d+ [+-]\d+)$/.exec(of("author")[0] ?? "") ?? [];
      const parents = of("parent").flatMap((parent) => ["-p", parent]);
      const author = { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: date };
      return commitTree([of("tree")[0] ?? "", ...parents], `${text.slice(end + 2)}\n`, by, author);
    },

    /** Checks the signature of a text from `sign`. */
    async verify(signed: string): Promise<Verification & { text: string }> {
      const { text: id } = await git(["hash-object", "-t", "commit", "-w", "--stdin"], `${signed}\n`);
      return { ...(await this.verifyCommit(id)), text: signed.slice(signed.indexOf("\n\n") + 2) };
    },

    async verifyCommit(commit: string): Promise<Verification> {
      const shown = await git([...(await options()), "log", "-1", "--format=%G?%x00%GS", commit]);
      const [status = "N", signer = ""] = shown.text.split("\0");
      return { state: states[status] ?? "bad", signer };
    },
  };
}

export type Signer = ReturnType<typeof gitSigner>;

/** Signs commits as the person whose git configuration this is. */
export const commitSigner =
  (git: Git, signer: Signer): SignCommit =>
  async (commit) => {
    const person = await git.person();
    const signed = person && (await signer.signCommit(commit, person));
    return signed?.ok ? signed.value : undefined;
  };

const states: Record<string, Verification["state"]> = {
  G: "good",
  U: "unknown signer",
  E: "unknown signer",
  N: "missing",
};

import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { runBounded } from "../src/agents/bounded.ts";
import { findSandbox } from "../src/agents/sandbox.ts";
import { unwrap } from "../src/kernel/result.ts";
import { defaultLimits as limits } from "./support/limits.ts";
import { needs } from "./support/programs.ts";
import { temporaryFolder, testEnvironment } from "./support/workspace.ts";

const secret = "PLANTED-SECRET";

function fakeHome() {
  const home = temporaryFolder();
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  };
  const program = (path: string, script: string) => {
    put(path, `#!/bin/sh\n${script}\n`);
    chmodSync(join(home, path), 0o755);
  };
  const link = (from: string, to: string) => {
    mkdirSync(dirname(join(home, to)), { recursive: true });
    symlinkSync(join(home, from), join(home, to));
  };
  return { home, put, program, link, at: (path: string) => join(home, path) };
}

describe("W5: toolchains under the home folder", needs("bubblewrap"), () => {
  test("W5: programs in PATH run in the sandbox with the files that belong to them, and secrets beside them do not exist", async () => {
    const { home, put, program, link, at } = fakeHome();
    const said = (name: string, file: string) => `echo ${name}: $(cat ${at(file)})`;
    put(".nvm/versions/node/v20.1.0/lib/node_modules/npm/index.js", "npm-lib");
    put(".nvm/versions/node/v20.1.0/etc/npmrc", secret);
    program(
      ".nvm/versions/node/v20.1.0/bin/nvm-node",
      said("nvm", ".nvm/versions/node/v20.1.0/lib/node_modules/npm/index.js"),
    );
    put(".local/share/fnm/node-versions/v22/installation/lib/x", "fnm-lib");
    program(
      ".local/share/fnm/node-versions/v22/installation/bin/fnm-node",
      said("fnm", ".local/share/fnm/node-versions/v22/installation/lib/x"),
    );
    link(".local/share/fnm/node-versions/v22/installation", ".local/state/fnm_multishells/1");
    put(".volta/tools/image/x", "volta-image");
    program(".volta/bin/volta-node", "echo volta: $(cat $VOLTA_HOME/tools/image/x)");
    put(".pyenv/versions/3.12/x", "pyenv-version");
    program(".pyenv/shims/py", "echo pyenv: $(cat $PYENV_ROOT/versions/3.12/x)");
    put(".rustup/toolchains/stable/x", "rust-toolchain");
    put(".cargo/credentials.toml", secret);
    put(".cargo/config.toml", secret);
    program(".cargo/bin/cg", "echo cargo: $(cat $RUSTUP_HOME/toolchains/stable/x)");
    put(".sdkman/candidates/java/17/lib/x", "java-lib");
    program(".sdkman/candidates/java/17/bin/jv", said("sdkman", ".sdkman/candidates/java/17/lib/x"));
    link(".sdkman/candidates/java/17", ".sdkman/candidates/java/current");
    put(".local/share/pipx/venvs/tool/pyvenv.cfg", "venv-config");
    program(".local/share/pipx/venvs/tool/bin/tool", said("pipx", ".local/share/pipx/venvs/tool/pyvenv.cfg"));
    link(".local/share/pipx/venvs/tool/bin/tool", ".local/bin/tool");
    put("go/pkg/secret", secret);
    program("go/bin/gotool", "echo go: tool");
    program(".local/share/pnpm/pn", "echo pnpm: program");
    for (const path of [".npmrc", ".ssh/id", ".local/share/secret", "bin.txt", ".config/gh/hosts.yml"])
      put(path, secret);
    program("bin/own", "echo own: bin");
    const folders = [
      ...[".nvm/versions/node/v20.1.0/bin", ".local/state/fnm_multishells/1/bin", ".volta/bin", ".pyenv/shims"],
      ...[".cargo/bin", ".sdkman/candidates/java/current/bin", ".local/bin", "go/bin", ".local/share/pnpm", "bin"],
    ].map(at);
    const PATH = [...folders, testEnvironment().PATH].join(":");
    const sandbox = unwrap(await findSandbox("auto", { ...testEnvironment(), HOME: home, PATH }));
    const script = [
      "for p in nvm-node fnm-node volta-node py cg jv tool gotool pn own; do $p; done",
      `grep -rl ${secret} ${home}; find ${home} -name '.ssh' -o -name 'hosts.yml' -o -name 'credentials*' -o -name .npmrc`,
      `touch ${at("bin/own")} 2>&1; echo end`,
    ].join("; ");
    const ran = await runBounded(
      sandbox,
      ["sh", "-c", script],
      { folder: temporaryFolder(), write: true, limits, env: { PATH } },
      { run: "r", wallMs: 20_000, signal: new AbortController().signal },
    );
    const lines = ran.output.trim().split("\n");
    expect(lines.slice(0, 10)).toEqual([
      ...["nvm: npm-lib", "fnm: fnm-lib", "volta: volta-image", "pyenv: pyenv-version", "cargo: rust-toolchain"],
      ...["sdkman: java-lib", "pipx: venv-config", "go: tool", "pnpm: program", "own: bin"],
    ]);
    expect(lines.slice(10)).toEqual([expect.stringContaining("Read-only file system"), "end"]);
    expect(ran.output).not.toContain(secret);
  });

  test("W5: a PATH that names the home itself, or no folder at all, shows nothing of it", async () => {
    const { home, put } = fakeHome();
    put("secret.txt", secret);
    const PATH = [home, join(home, "missing"), "relative/bin", dirname(home), testEnvironment().PATH].join(":");
    const sandbox = unwrap(await findSandbox("auto", { ...testEnvironment(), HOME: home, PATH }));
    const ran = await runBounded(
      sandbox,
      ["sh", "-c", `ls -A ${home} 2>&1; cat ${home}/secret.txt 2>&1`],
      { folder: temporaryFolder(), write: true, limits, env: { PATH } },
      { run: "r", wallMs: 20_000, signal: new AbortController().signal },
    );
    expect(ran.output).not.toContain(secret);
  });
});

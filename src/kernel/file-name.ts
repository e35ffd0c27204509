import { removeHidden } from "./hidden.ts";

/**
 * Says why a path must not become a file in a git repository; undefined when it may. People must see the name that
 * they approve (T35), and no name may be `.git` on a file system that ignores case, trailing dots and spaces, or
 * zero-width characters, or that has short names: `git fsck --strict` and servers refuse such a repository.
 */
export function fileNameProblem(path: string): string | undefined {
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(path) || removeHidden(path) !== path)
    return "it contains a control, hidden or unassigned character";
  const part = path.split("/").find((name) => ofGit.test(name));
  return part === undefined
    ? undefined
    : `${JSON.stringify(part)} is another name of git's own files on some operating systems`;
}

/** `.git`, `.git. .`, `.git::$INDEX_ALLOCATION`, `git~1`, and short names of `.gitmodules` and its like. */
const ofGit = /^(?:\.git[. ]*(?::.*)?|(?:gi|ma)[^~]{0,6}~\d.*)$/iu;

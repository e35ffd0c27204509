/**
 * Patterns of .gitignore files. A matcher of our own, because agents write both the patterns and the file names, and
 * the regular expressions that libraries make of patterns with many stars take exponential time. This one is
 * quadratic at worst: after a mismatch it backtracks to the last star only.
 */
export type IgnoreRules = {
  /** True if ignored, false if a negated pattern brings it back, undefined if no pattern matches. */
  test(path: string, isFolder: boolean): boolean | undefined;
};

type Rule = { segments: string[]; negated: boolean; foldersOnly: boolean };

export function ignoreRules(text: string): IgnoreRules {
  const rules = text.split("\n").flatMap((line) => ruleOf(line) ?? []);
  rules.reverse();
  return {
    test(path, isFolder) {
      const parts = path.split("/");
      const rule = rules.find(
        ({ segments, foldersOnly }) => (isFolder || !foldersOnly) && matchesList(segments, parts, matchesSegment),
      );
      return rule && !rule.negated;
    },
  };
}

function ruleOf(line: string): Rule | undefined {
  const trimmed = withoutTrailingSpaces(line.replace(/\r$/, ""));
  if (trimmed === "" || trimmed.startsWith("#")) return undefined;
  const negated = trimmed.startsWith("!");
  const pattern = negated ? trimmed.slice(1) : trimmed;
  const foldersOnly = pattern.endsWith("/");
  const body = foldersOnly ? pattern.slice(0, -1) : pattern;
  const isAnchored = body.includes("/");
  const segments = body.replace(/^\//, "").split("/");
  if (segments.every((segment) => segment === "")) return undefined;
  // `a/**` means what is inside of `a`, not `a` itself.
  if (segments.length > 1 && segments.at(-1) === "**") segments.push("*");
  return { segments: isAnchored ? segments : ["**", ...segments], negated, foldersOnly };
}

/** Matches a path, or a folder above it, against a glob of ripgrep: as in .gitignore, with `{a,b}`; `!` excludes. */
export function globMatcher(glob: string | undefined): (path: string) => boolean {
  if (glob === undefined) return () => true;
  const isExcluding = glob.startsWith("!");
  const rules = ignoreRules(withoutBraces(isExcluding ? glob.slice(1) : glob).join("\n"));
  return (path) => {
    const parts = path.split("/");
    const matches = parts.some((_, i) => rules.test(parts.slice(0, i + 1).join("/"), i < parts.length - 1));
    return matches !== isExcluding;
  };
}

const mostAlternatives = 100;

function withoutBraces(glob: string): string[] {
  let open = [glob];
  const done: string[] = [];
  while (open.length > 0 && open.length + done.length <= mostAlternatives) {
    open = open.flatMap((one) => {
      const [whole, inner = ""] = /\{([^{}]*)\}/.exec(one) ?? [];
      if (whole !== undefined) return inner.split(",").map((alternative) => one.replace(whole, () => alternative));
      done.push(one);
      return [];
    });
  }
  return done;
}

/** `**` stands for any number of segments. */
function matchesList(
  pattern: readonly string[],
  parts: readonly string[],
  matches: (segment: string, part: string) => boolean,
): boolean {
  let [p, s, star, resume] = [0, 0, -1, 0];
  while (s < parts.length) {
    if (pattern[p] === "**") {
      star = p++;
      resume = s;
    } else if (p < pattern.length && matches(pattern[p] ?? "", parts[s] ?? "")) {
      p++;
      s++;
    } else if (star >= 0) {
      p = star + 1;
      s = ++resume;
    } else return false;
  }
  while (pattern[p] === "**") p++;
  return p === pattern.length;
}

type Token = "*" | ((character: string) => boolean);

function matchesSegment(pattern: string, part: string): boolean {
  const tokens = tokensOf(pattern);
  const characters = [...part];
  let [p, s, star, resume] = [0, 0, -1, 0];
  while (s < characters.length) {
    const token = tokens[p];
    if (token === "*") {
      star = p++;
      resume = s;
    } else if (token?.(characters[s] ?? "")) {
      p++;
      s++;
    } else if (star >= 0) {
      p = star + 1;
      s = ++resume;
    } else return false;
  }
  while (tokens[p] === "*") p++;
  return p === tokens.length;
}

function tokensOf(pattern: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; ) {
    const character = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
    const set = character === "[" ? /^\[([!^]?)(\]?(?:\\.|[^\]\\])*)\]/.exec(pattern.slice(at)) : null;
    if (set) {
      tokens.push(characterSet(set[2] ?? "", set[1] !== ""));
      at += set[0].length;
    } else if (character === "*") {
      if (tokens.at(-1) !== "*") tokens.push("*");
      at += 1;
    } else if (character === "?") {
      tokens.push(() => true);
      at += 1;
    } else {
      const literal = character === "\\" && at + 1 < pattern.length ? (pattern[++at] ?? "") : character;
      tokens.push((one) => one === literal);
      at += literal.length;
    }
  }
  return tokens;
}

function characterSet(inner: string, negated: boolean): (character: string) => boolean {
  const ranges: [string, string][] = [];
  const characters = [...inner.replace(/\\(.)/gs, "$1")];
  for (let at = 0; at < characters.length; at++) {
    const from = characters[at] ?? "";
    const to = characters[at + 1] === "-" ? characters[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return (one) => ranges.some(([from, to]) => one >= from && one <= to) !== negated;
}

/** A space after a backslash belongs to the pattern. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === " " && line[end - 2] !== "\\") end--;
  return line.slice(0, end);
}

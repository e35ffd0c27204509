/** A forge that opens pull requests, by the program that its users have. */
export type Forge = "github" | "gitlab";
export const forges = { github: { program: "gh" }, gitlab: { program: "glab" } } as const;

export type PullRequest = {
  /** As `host/owner/name`. */
  repository: string | undefined;
  branch: string;
  base: string | undefined;
  title: string;
  text: string;
  draft: boolean;
};

/** GitHub takes 65,536 characters; the text for GitLab is an argument, of which Linux takes 128 KiB. */
const mostBytes: Record<Forge, number> = { github: 60_000, gitlab: 100_000 };
const mostTitle = 250;

/** The forge that a remote belongs to, by its host. */
export function forgeOf(url: string): Forge | undefined {
  const host = placeOf(url)?.host ?? "";
  if (/(^|[.-])github([.-]|$)/.test(host)) return "github";
  return /(^|[.-])gitlab([.-]|$)/.test(host) ? "gitlab" : undefined;
}

/** The repository that an address of a remote names; undefined for a folder. */
export function repositoryOf(url: string): string | undefined {
  const place = placeOf(url);
  return place && `${place.host}/${place.path}`;
}

function placeOf(url: string): { host: string; path: string } | undefined {
  const [, host, path] =
    /^(?:https?|ssh|git):\/\/(?:[^/@]*@)?([^/:]+)(?::\d+)?\/(.+?)(?:\.git)?\/?$/.exec(url) ??
    /^(?:[^/@:]+@)?([^/:@]{2,}):([^/\\].*?)(?:\.git)?\/?$/.exec(url) ??
    [];
  return host && path ? { host: host.toLowerCase(), path } : undefined;
}

/** The arguments of the forge's program and what it reads from its standard input. */
export type ForgeCommand = { args: string[]; input: string };

/** Opens the pull request. */
export function openingCommand(forge: Forge, request: PullRequest): ForgeCommand {
  const { branch, base, draft } = request;
  const title = request.title
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, mostTitle);
  const { args, input } = textOf(forge, request);
  const isDraft = draft ? ["--draft"] : [];
  return forge === "github"
    ? {
        args: [
          ...["pr", "create", ...where(request), `--head=${branch}`, ...(base ? [`--base=${base}`] : [])],
          ...[`--title=${title}`, ...args, ...isDraft],
        ],
        input,
      }
    : {
        args: [
          ...["mr", "create", ...where(request), `--source-branch=${branch}`],
          ...[...(base ? [`--target-branch=${base}`] : []), `--title=${title}`, ...args, "--yes", ...isDraft],
        ],
        input,
      };
}

/** Replaces the text of the pull request that is open for the branch. */
export function updatingCommand(forge: Forge, request: PullRequest): ForgeCommand {
  const { args, input } = textOf(forge, request);
  const verb = forge === "github" ? ["pr", "edit"] : ["mr", "update"];
  return { args: [...verb, request.branch, ...where(request), ...args], input };
}

const where = ({ repository }: PullRequest) => (repository === undefined ? [] : [`--repo=${repository}`]);

/** The text of GitHub goes to the standard input of its program. */
function textOf(forge: Forge, request: PullRequest): ForgeCommand {
  const text = bounded(request.text, mostBytes[forge]);
  return forge === "github" ? { args: ["--body-file=-"], input: text } : { args: [`--description=${text}`], input: "" };
}

/** Cut at a line, so that it is not longer than so many bytes. */
function bounded(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text;
  const note = "\n\n… The rest of the report is cut here.\n";
  const cut = Buffer.from(text)
    .subarray(0, most - Buffer.byteLength(note))
    .toString("utf8");
  return `${cut.slice(0, Math.max(cut.lastIndexOf("\n"), 0) || undefined).replace(/\uFFFD$/, "")}${note}`;
}

/** The address in what the program printed. */
export const addressIn = (printed: string): string | undefined => /https?:\/\/[^\s"'<>]+/.exec(printed)?.[0];

/** True if the program refused because the branch has an open pull request. */
export const isAlreadyOpen = (printed: string): boolean =>
  /(pull|merge) request\b[^\n]*\balready exists/i.test(printed);

import { existsSync } from "node:fs";
import { basename, join } from "node:path";

/** An agent CLI that Scriptorium knows: how it is installed, and where its login is. */
export type KnownProgram = {
  install: string;
  login: {
    /** Any of these variables lets it reach its model. */
    variables: readonly string[];
    /** Its configuration folder: the variable that names it, the default in the home, the file of the login. */
    folder?: { variable: string; inHome: string; file: string };
    command: string;
    /** The hosts of its API and of its sign-in, for a login that is a file. */
    hosts: readonly string[];
  };
};

const programs: Readonly<Record<string, KnownProgram>> = {
  claude: {
    install: "npm install -g @anthropic-ai/claude-code",
    login: {
      variables: [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
      ],
      folder: { variable: "CLAUDE_CONFIG_DIR", inHome: ".claude", file: ".credentials.json" },
      command: "claude auth login, or export ANTHROPIC_API_KEY=…",
      hosts: ["api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"],
    },
  },
  codex: {
    install: "npm install -g @openai/codex",
    login: {
      variables: ["OPENAI_API_KEY", "CODEX_API_KEY"],
      folder: { variable: "CODEX_HOME", inHome: ".codex", file: "auth.json" },
      command: "codex login, or export OPENAI_API_KEY=…",
      hosts: ["chatgpt.com", "api.openai.com", "auth.openai.com"],
    },
  },
  gemini: {
    install: "npm install -g @google/gemini-cli",
    login: {
      variables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
      folder: { variable: "GEMINI_CLI_HOME", inHome: ".gemini", file: "oauth_creds.json" },
      command: "gemini (and sign in), or export GEMINI_API_KEY=…",
      hosts: ["cloudcode-pa.googleapis.com", "oauth2.googleapis.com", "generativelanguage.googleapis.com"],
    },
  },
};

export const knownProgram = (path: string): KnownProgram | undefined => {
  const name = basename(path).replace(/\.(m?js|cmd|exe)$/, "");
  return Object.hasOwn(programs, name) ? programs[name] : undefined;
};

type Env = Record<string, string | undefined>;

/** Where its login was found: a variable's name or a file. The contents are never read. */
export function loginOf({ login }: KnownProgram, env: Env): { variable: string } | { file: string } | undefined {
  const variable = login.variables.find((name) => env[name]);
  if (variable) return { variable };
  if (!login.folder) return undefined;
  const { variable: named, inHome, file } = login.folder;
  const path = join(env[named] ?? join(env.HOME ?? "/nonexistent", inHome), file);
  return existsSync(path) ? { file: path } : undefined;
}

/** The hosts that a program reaches with its own login. Requests to a cloud are signed, so they cannot carry a placeholder. */
export function loginHosts(login: KnownProgram["login"] | undefined, env: Env): readonly string[] {
  if (env.CLAUDE_CODE_USE_BEDROCK) {
    const region = env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? "us-east-1";
    return ["bedrock", "bedrock-runtime", "sts"].map((service) => `${service}.${region}.amazonaws.com`);
  }
  if (env.CLAUDE_CODE_USE_VERTEX) {
    const region = env.CLOUD_ML_REGION ?? "us-east5";
    const host = region === "global" ? "aiplatform.googleapis.com" : `${region}-aiplatform.googleapis.com`;
    return [host, "oauth2.googleapis.com", "sts.googleapis.com"];
  }
  return login?.hosts ?? [];
}

type Environment = Record<string, string | undefined>;

/**
 * The variables with which an agent CLI reaches its model, by name (T19). Credentials of a cloud are passed only if the
 * CLI is configured for that cloud: a key for deployments is not a key for a model.
 */
export function modelVariables(runner: string, env: Environment): readonly string[] {
  if (runner === "codex") return codex;
  if (runner !== "claude") return [];
  const isOn = (name: string) => !["", "0", "false"].includes(env[name] ?? "");
  return [
    ...claude,
    ...(isOn("CLAUDE_CODE_USE_BEDROCK") ? bedrock : []),
    ...(isOn("CLAUDE_CODE_USE_VERTEX") ? [...vertex, ...regionsIn(env)] : []),
  ];
}

const codex = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME"];

const claude = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "ANTHROPIC_BASE_URL",
  "ANTHROPIC_BETAS",
  "ANTHROPIC_CUSTOM_HEADERS",
  "ANTHROPIC_MODEL",
  "ANTHROPIC_SMALL_FAST_MODEL",
  "ANTHROPIC_DEFAULT_HAIKU_MODEL",
  "ANTHROPIC_DEFAULT_OPUS_MODEL",
  "ANTHROPIC_DEFAULT_SONNET_MODEL",
  "CLAUDE_CONFIG_DIR",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "CLAUDE_CODE_USE_BEDROCK",
  "CLAUDE_CODE_USE_VERTEX",
  "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
  "CLAUDE_CODE_MAX_RETRIES",
  "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
  "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
];

const bedrock = [
  "ANTHROPIC_BEDROCK_BASE_URL",
  "AWS_ACCESS_KEY_ID",
  "AWS_BEARER_TOKEN_BEDROCK",
  "AWS_DEFAULT_REGION",
  "AWS_REGION",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
];

const vertex = [
  "ANTHROPIC_VERTEX_BASE_URL",
  "ANTHROPIC_VERTEX_PROJECT_ID",
  "CLAUDE_CODE_SKIP_VERTEX_AUTH",
  "CLOUD_ML_REGION",
];

/** One for each model, such as VERTEX_REGION_CLAUDE_4_5_SONNET. */
const regionsIn = (env: Environment) => Object.keys(env).filter((name) => /^VERTEX_REGION_CLAUDE_\w+$/.test(name));

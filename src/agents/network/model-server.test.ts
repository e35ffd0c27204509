import { expect, test } from "vitest";
import { modelAccess } from "./model-server.ts";

const inside = (env: Record<string, string>) => modelAccess(env, "http://127.0.0.1:3128");
const key = "sk-ant-real-4711";

test("T19: keys are replaced by placeholders, in every variable that repeats them, and addresses by the relay", () => {
  const { servers, env } = inside({
    PATH: "/bin",
    ANTHROPIC_API_KEY: key,
    MY_COPY: key,
    ANTHROPIC_CUSTOM_HEADERS: "X-Team: red\nX-Secret: 99",
    OPENAI_API_KEY: "sk-other",
    OPENAI_BASE_URL: "https://gateway.example.org/llm/v1/",
  });
  expect(JSON.stringify(env)).not.toMatch(/4711|sk-other|99/);
  expect(env).toMatchObject({
    PATH: "/bin",
    ANTHROPIC_BASE_URL: "http://127.0.0.1:3128/anthropic",
    OPENAI_BASE_URL: "http://127.0.0.1:3128/openai/llm/v1",
  });
  expect(env.MY_COPY).toBe(env.ANTHROPIC_API_KEY);
  expect(servers.map(({ name, base, headers }) => [name, base.href, headers])).toEqual([
    ["anthropic", "https://api.anthropic.com/", { "x-team": "red", "x-secret": "99" }],
    ["openai", "https://gateway.example.org/llm/v1/", {}],
  ]);
});

test("a server without a key is reached too, and an environment without either has no server", () => {
  const local = inside({ ANTHROPIC_BASE_URL: "http://127.0.0.1:11434" });
  expect(local.servers).toMatchObject([{ name: "anthropic", keys: [] }]);
  expect(inside({ PATH: "/bin" })).toEqual({ servers: [], env: { PATH: "/bin" }, args: [] });
});

test("a model server answers questions to a model only", () => {
  const [anthropic, openai, gemini] = inside({
    ...{ ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "b", GEMINI_API_KEY: "c" },
  }).servers;
  const allows = (server: typeof anthropic, path: string) => server?.paths.test(path) ?? false;
  expect(["/v1/messages", "/v1/messages/count_tokens", "/v1/models"].every((path) => allows(anthropic, path))).toBe(
    true,
  );
  expect(
    ["/v1/files", "/v1/organizations/users", "/v1/messages/../files", "/v1/messages/batches"].some((path) =>
      allows(anthropic, path),
    ),
  ).toBe(false);
  expect(["/chat/completions", "/responses", "/models/gpt-5"].every((path) => allows(openai, path))).toBe(true);
  expect(["/files", "/responses/resp_1", "/organization/admin_api_keys"].some((path) => allows(openai, path))).toBe(
    false,
  );
  expect(["/v1beta/models/gemini-3:streamGenerateContent"].every((path) => allows(gemini, path))).toBe(true);
  expect(["/upload/v1beta/files", "/v1beta/files"].some((path) => allows(gemini, path))).toBe(false);
});

import { expect, test } from "vitest";
import { redactor } from "./redact.ts";

test("removes secret variables, given secrets and passwords in addresses, and nothing else", () => {
  const redact = redactor({ OPENAI_API_KEY: "sk-12345678", PATH: "/usr/bin:/bin", A_TOKEN: "short" }, ["claim-secret"]);
  expect(redact("a sk-12345678 b claim-secret c /usr/bin:/bin short")).toBe(
    "a [redacted] b [redacted] c /usr/bin:/bin short",
  );
  expect(redact("postgres://ada:hunter22@localhost/db and https://localhost:8080/x@y")).toBe(
    "postgres://ada:[redacted]@localhost/db and https://localhost:8080/x@y",
  );
});

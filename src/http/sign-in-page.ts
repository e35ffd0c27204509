import { existsSync, readFileSync } from "node:fs";
import type { Context } from "hono";
import { packageFile } from "../kernel/package-files.ts";
import { withData } from "./page-data.ts";
import type { SignInBoot } from "./web-types.ts";

const file = packageFile("dist/web/sign-in.html");

/** The page that signs people in; `web/sign-in/` is its script. */
export function signInPage(c: Context, status: 200 | 401, boot: SignInBoot): Response {
  const page = existsSync(file) ? readFileSync(file, "utf8") : "";
  return c.body(withData(page, boot), status, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
      "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  });
}
